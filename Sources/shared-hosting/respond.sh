# shellcheck shell=bash source-path=SCRIPTDIR
# Sourced by switchboard.cgi, which sets `site`: answers one request.
unset HTTP_PROXY # a client can set it with a field Proxy
# shellcheck source=site.sh
. "${site:?}/share/site.sh"
exec 2>>"$site/log/responder.log"
enter_environment responder
exec "$site/bin/switchboard-responder"
