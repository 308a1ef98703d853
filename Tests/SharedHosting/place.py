"""The person's site at the host, set up as in the manual."""

import pathlib
import re
import shlex

from host import ACCOUNT, DATABASE, NAME, PASSWORD  # first, because it extends the import path

import page
from programs import Mailbox as Folder

PAGE = pathlib.Path(__file__).parents[2] / "Sources/Manual/shared-hosting.md"
SETUP = "switchboard/bin/switchboard setup --shared"
CRONTAB = re.compile(r"^\* \* \* \* \* (.*)$", re.MULTILINE)


class Mailbox(Folder):
    """The mail command's input, after cron has run a pass."""

    def __init__(self, site):
        super().__init__([site.host.mails])
        self.site = site

    def wait(self, recipient, pattern):
        self.site.run_pass()
        return super().wait(recipient, pattern)


class Site:
    def __init__(self, host):
        self.host, self.crontab = host, None
        self.folder = host.home / "switchboard"
        self.mailbox = Mailbox(self)

    def answers(self):
        """The person's answers, by the text before the cursor."""
        return [
            (r"Address of the site \[.*\]: $", f"https://{NAME}"),
            (r"Folder that the web server shows there \[.*\]: $", ""),
            (r"Database server: .* \[.*\]: $", self.host.database.socket),
            (r"Name of the database \[.*\]: $", DATABASE),
            (r"Account of the database \[.*\]: $", ACCOUNT),
            (r"(Password of the database account|Enter password): $", PASSWORD),
            (r"Command that sends mail.* \[.*\]: $", f"{self.host.home}/bin/sendmail -t -i"),
        ]

    def follow(self, title):
        """Types the commands of the page's section. Returns the terminal's output, and the number of typed answers."""
        shown, typed = "", 0
        blocks = [block for heading, block in page.blocks(PAGE) if heading == title]
        assert blocks, f"the page has no commands below {title}"
        for block in blocks:
            text, count = page.type_at(self.host.argv(block), self.answers())
            shown, typed = shown + text.replace("\r", ""), typed + count
        if found := CRONTAB.search(shown):
            self.crontab = found.group(1)
        return shown, typed

    def setup(self, *options, status=0):
        return self.host.run(f"{SETUP} --yes {shlex.join(map(str, options))}", status)

    def run_pass(self):
        """Runs cron's command of each minute."""
        self.host.run(f"cd && env -i HOME=$HOME LOGNAME=ann SHELL=/bin/sh PATH=/usr/bin:/bin sh -c {shlex.quote(self.crontab)}")

    def set(self, variables):
        """Adds settings."""
        with (self.folder / "etc/environment").open("a") as file:
            file.writelines(f"{name}={value}\n" for name, value in variables.items())

    def keep_secret(self, name, content):
        """Writes a file of secrets, like the person."""
        self.host.run(f"umask 077; printf %s {shlex.quote(content)} >{self.folder}/etc/secrets/{name}")

    def secrets(self):
        """The secrets in the files of secrets: lines that are long enough, without the name before a colon."""
        for file in (self.folder / "etc/secrets").iterdir():
            for line in file.read_text().splitlines():
                if len(line) >= 16 and not line.startswith("-----") and not file.name.startswith("vapid-public"):
                    yield line.rpartition(":")[2]
