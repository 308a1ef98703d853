"""The web servers other than nginx, set up word for word as in the manual."""

import pathlib
import shlex

import page
from machine import now
from phone import NAME

PAGE = pathlib.Path(__file__).parents[2] / "Sources/Manual/web-servers.md"


def _write(site, path, text):
    site.machine.run(f"printf %s {shlex.quote(text)} >{path}")


def _use(site, server):
    """Uses the site behind `server`: the log contains no token, and the http address redirects to the right one."""
    site.wait(f"{server} listens", site.listens)
    site.health()
    site.client.send("GET", "/account").expect(200)
    site.phone.sign_in_by_passkey()
    site.phone.summary().expect(200)
    site.client.send("GET", "/account/none").expect(404)
    began = now()
    site.machine.run("systemctl start switchboard-companion.service")
    site.wait_for_pass(began)
    site.check()
    moved = site.machine.run(f"curl -s -o /dev/null -w '%{{http_code}} %{{redirect_url}}' http://{NAME}/health?a=b")
    assert moved == f"301 https://{NAME}/health?a=b", moved
    site.machine.run("install -D -m 644 /dev/stdin /var/lib/switchboard/acme/.well-known/acme-challenge/it", text="proof")
    proof = site.machine.run(f"curl -s http://{NAME}/.well-known/acme-challenge/it")
    assert proof == "proof", f"an authority gets {proof}"
    site.machine.run("rm -r /var/lib/switchboard/acme/.well-known")

    def log():
        return site.machine.run(f"cat /var/log/{server}/*.log")
    site.wait(f"{server} writes its log", lambda: "/api/mobile/wallet/summary" in log())
    assert site.phone.access not in log(), f"{server} logs a token"
    site.machine.run("switchboard setup --yes")  # as an upgrade does
    assert site.machine.status("systemctl is-active nginx") != 0, "setup has started the disabled nginx"
    site.health()


def _follow(site, heading, package, path, language):
    """Follows the page below `heading`, uses the site, and restores nginx."""
    run = site.machine.run
    install, *rest = page.below(PAGE, heading)
    (text,) = page.below(PAGE, heading, language)
    run("systemctl disable --now nginx")
    try:
        run(f"set -e\nexport DEBIAN_FRONTEND=noninteractive\n{install}")
        _write(site, path, text)
        if rest[:-1] and run(". /etc/os-release; echo $VERSION_ID").strip() == "12":
            run(f"set -e\n{rest[0]}")
        run(f"set -e\n{rest[-1]}")
        _use(site, package)
    finally:
        run(f"systemctl stop {package}; DEBIAN_FRONTEND=noninteractive apt-get -q -y purge '{package}*'; "
            f"rm -rf /etc/{package} /var/log/{package}; systemctl enable --now nginx", check=False)
    site.health()
    return "a phone signs in, check finds no fault, no token is logged"


def apache(site):
    """The page's steps for Apache."""
    return _follow(site, "Apache", "apache2", "/etc/apache2/sites-available/switchboard.conf", "apache")


def lighttpd(site):
    """The page's steps for lighttpd."""
    return _follow(site, "lighttpd", "lighttpd", "/etc/lighttpd/lighttpd.conf", "lighttpd")


STAGES = [apache, lighttpd]
