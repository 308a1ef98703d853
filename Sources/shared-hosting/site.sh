# shellcheck shell=bash source-path=SCRIPTDIR
# Sourced by switchboard and by the CGI program: the environment of a site at a shared host.

# Both callers set this: the folder of the site.
site=${site:?}
# shellcheck source=../companion/environment.sh
. "$site/share/environment.sh"
umask 077

# secret VARIABLE FILE: exports the path of a secret file to the program, if the file is not empty.
secret() { [[ ! -s $site/etc/secrets/$2 ]] || export "$1_FILE=$site/etc/secrets/$2"; }

# enter_environment PROGRAM: exports the settings and the paths of the secret files that the program needs.
enter_environment() {
  local name
  environment=([SWIFT_BACKTRACE]=enable=no) # a backtrace would print keys that are in memory
  read_environment "$site/etc/environment"
  for name in "${!environment[@]}"; do export "$name=${environment[$name]}"; done
  secret SWITCHBOARD_DB_PASSWORD database-password
  secret SWITCHBOARD_COMPANION_PUBLIC_KEYS companion-public-keys
  case $1 in
    responder)
      secret SWITCHBOARD_JWT_KEYS jwt-keys
      secret SWITCHBOARD_HMAC_KEYS hmac-keys
      secret SWITCHBOARD_CREDENTIAL_KEYS credential-keys
      secret SWITCHBOARD_PAYMENT_KEYS payment-keys
      secret MASTER_API_KEY master-api-key
      secret WEBPUSH_VAPID_PUBLIC_KEY vapid-public-key
      ;;
    companion)
      export SWITCHBOARD_SECRETS_DIRECTORY=$site/etc/secrets
      secret SWITCHBOARD_COMPANION_KEYS companion-keys
      secret APNS_PRIVATE_KEY apns-private-key
      secret APNS_APPS apns-apps
      secret FCM_SERVICE_ACCOUNT fcm-service-account
      secret WEBPUSH_VAPID_KEY vapid-key
      ;;
  esac
}
