# shellcheck shell=bash
# shellcheck disable=SC2154 # setup.sh sets root
# Sourced by nginx/run: starts the responder, the companion and the fakes, each with its own environment.

# nginx/run sets these: the state directory, its directory of sockets, the directory of the programs, the site's URL, and
# the agent's host and port.
state='' run='' bin='' url='' agent=''

# variables_of NAME: prints the environment variables that the program NAME may see, here or as NAME_FILE. No program
# sees the secrets of another.
variables_of() {
  echo PATH HOME LANG LC_ALL TZ TMPDIR SWIFT_BACKTRACE
  "$bin/switchboard-companion" variables "$1" || die "$bin/switchboard-companion cannot tell which variables the $1 reads"
}

# default NAME VALUE, or NAME_FILE VALUE: exports it if the environment has neither NAME nor NAME_FILE.
default() {
  local name=${1%_FILE}
  local file=${name}_FILE
  [[ -n ${!name+given} || -n ${!file+given} ]] || export "$1=$2"
}

# enter_environment NAME: sets the environment of the program NAME. Call it in a subshell.
enter_environment() {
  local variable allowed
  unset "${!SWITCHBOARD_DB_@}" # the site always has its own database
  export SWITCHBOARD_DB_SOCKET=$run/mariadb.sock SWITCHBOARD_DB_NAME=switchboard
  export SWITCHBOARD_DB_USER=switchboard_$1 SWITCHBOARD_DB_PASSWORD_FILE=$state/secrets/database-$1
  export SWITCHBOARD_WAKE_SOCKET=$run/companion.sock SWITCHBOARD_RELAY_SOCKET=$run/relay.sock SWITCHBOARD_AGENT=$agent
  default SWITCHBOARD_ENV development
  # Browsers support passkeys only for names, so the site's main URL uses localhost. A second URL uses 127.0.0.1.
  default SWITCHBOARD_PUBLIC_URL "$url,http://127.0.0.1:${url##*:}"
  default SWITCHBOARD_JWT_KEYS_FILE "$state/secrets/jwt-keys"
  default SWITCHBOARD_HMAC_KEYS_FILE "$state/secrets/hmac-keys"
  default SWITCHBOARD_CREDENTIAL_KEYS_FILE "$state/secrets/credential-keys"
  default SWITCHBOARD_PAYMENT_KEYS_FILE "$state/secrets/payment-keys"
  default SWITCHBOARD_COMPANION_KEYS_FILE "$state/secrets/companion-keys"
  default SWITCHBOARD_COMPANION_PUBLIC_KEYS_FILE "$state/secrets/companion-public-keys"
  if [[ -n ${SWITCHBOARD_WEB_PROXY-} ]]; then
    default SWITCHBOARD_TRUSTED_PROXIES 127.0.0.5
    default SWITCHBOARD_PAIRING_ALLOW 192.0.2.1 # what the proxy calls 127.0.0.1
  fi
  default MASTER_API_KEY_FILE "$state/secrets/master-api-key"
  default SWITCHBOARD_SECRETS_DIRECTORY "$state/secrets"
  default SWITCHBOARD_ADMINISTRATOR "$(id -un)@$(uname -n)"
  [[ -n ${SWITCHBOARD_MAIL_COMMAND+given} || -n ${SWITCHBOARD_MAIL_COMMAND_FILE+given} ]] ||
    default SWITCHBOARD_MAIL_DIRECTORY "$state/mail"
  export SWIFT_BACKTRACE=enable=no # a backtrace would print keys that are in memory
  allowed=$(variables_of "$1") || exit
  for variable in $(compgen -e); do
    case " ${allowed//$'\n'/ } " in *" $variable "* | *" ${variable%_FILE} "*) ;; *) unset "$variable" ;; esac
  done
}

# start_program NAME ARGUMENT…: starts the responder, the companion or the relay.
start_program() (
  enter_environment "$1"
  keep "$1" "$bin/switchboard-$1" "${@:2}"
)

# start_fake NAME OPTION…: starts the fake of NAME and waits until it has a port.
start_fake() {
  start_server "$1" "$bin/switchboard-fakes" "$1" --folder "$state/$1" "${@:2}"
}

# start_server NAME COMMAND…: starts a server that writes its port to STATE/NAME/port, and waits for it.
start_server() {
  local tries=0
  rm -f "$state/$1/port"
  keep "$@"
  until [[ -s $state/$1/port ]]; do
    ((++tries < 600)) || fail "the server $1 does not start" "$1.log"
    sleep 0.1
  done
}

# Starts all fakes and the shop, and removes the settings of the real services.
start_fakes() {
  local key=$state/secrets/apns-private-key
  mkdir -p "$state"/{apns,fcm,ogs,bank,shop}
  if [[ ! -s $key ]]; then
    openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$key.new" 2>/dev/null
    mv "$key.new" "$key"
  fi
  openssl pkey -in "$key" -pubout -out "$state/apns/provider.pem"
  rm -f "$state"/apns/{certificate,key}.pem # the fake makes new ones, valid for 30 days
  start_fake apns --public-key "$state/apns/provider.pem"
  start_fake fcm
  start_fake ogs
  start_fake bank
  start_server shop python3 "$root/nginx/shop.py" "$state/shop" "$url"
  unset "${!APNS_@}" "${!FCM_@}" SWITCHBOARD_SUBSTITUTES{,_FILE}
  export APNS_KEY_ID=KEY1234567 APNS_TEAM_ID=TEAM123456 APNS_BUNDLE_ID=com.example.switchboard
  export APNS_PRIVATE_KEY_FILE=$key APNS_CA_CERT=$state/apns/certificate.pem
  export FCM_SERVICE_ACCOUNT_FILE=$state/fcm/service-account.json
  APNS_ENDPOINT_OVERRIDE=https://localhost:$(<"$state/apns/port")
  SWITCHBOARD_SUBSTITUTES=fcm=http://127.0.0.1:$(<"$state/fcm/port"),ogs=http://127.0.0.1:$(<"$state/ogs/port")
  export APNS_ENDPOINT_OVERRIDE SWITCHBOARD_SUBSTITUTES
  default CHECK_INTERVAL_SECONDS 5
  default SWITCHBOARD_OUTBOUND_ALLOW 127.0.0.0/8 # the fake bank and the shop
  connect_bank || fail 'cannot connect the fake bank' bank.log
  connect_shop || fail 'cannot connect the shop' shop.log
}

# Lets people enroll at the fake bank.
connect_bank() (
  enter_environment companion
  bank=http://127.0.0.1:$(<"$state/bank/port")
  "$bin/switchboard-companion" banks add --bsim-id test-bank --name 'Test Bank' --client-id wsim \
    --authorization-url "$bank/authorize" --token-url "$bank/token" --cards-url "$bank/cards" \
    <"$state/bank/client-secret" >>"$state/log/bank.log" 2>&1
)

# Lets the shop take payments as a merchant, the same one at each start, and tells it the outcomes. Each secret is printed
# only once, so a start that was killed leaves a merchant without a key, or without a secret: such a one gets new ones.
connect_shop() (
  enter_environment companion
  merchants=("$bin/switchboard-companion" merchants)
  name='Test Shop'
  address=http://127.0.0.1:$(<"$state/shop/port")
  cd "$state/shop" || exit
  exec 2>>"$state/log/shop.log"
  id=$(merchant_of "$name") || exit
  if [[ -z $id || ! -s api-key ]]; then
    rm -f api-key webhook-secret
    [[ -z $id ]] || "${merchants[@]}" revoke "$id" >&2 || exit
    "${merchants[@]}" add "$name" >api-key.new && mv api-key.new api-key && id=$(merchant_of "$name") || exit
  fi
  answer=$("${merchants[@]}" set "$id" --webhook "$address/webhook" --return "$address") || exit
  if [[ $answer == whsec_* ]]; then
    echo "$answer" >webhook-secret
  elif [[ ! -s webhook-secret ]]; then
    "${merchants[@]}" rotate-secret "$id" >webhook-secret.new && mv webhook-secret.new webhook-secret
  fi
)
