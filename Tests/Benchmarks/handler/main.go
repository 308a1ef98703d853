// GET /api/v1/device-prefs in a typical Go program: net/http/fcgi and database/sql with prepared statements.
// Checks the token and uses SQL like the responder; other requests get 501. Its environment is that of the C program.
package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/fcgi"
	"os"
	"strconv"
	"strings"
	"time"

	_ "github.com/go-sql-driver/mysql"
)

const read = `SELECT s.device_id, s.generation, s.confirmed, d.credential_hash, d.credential_expires_at,
  p.push_enabled, p.push_token, p.preferred_models, p.archive_cache_quota_mb,
  p.last_updated_at, p.version, p.last_write_digest, p.last_write_base, d.platform
FROM sessions s
JOIN devices d ON d.id = s.device_id
JOIN device_preferences p ON p.device_id = d.id
WHERE s.id = ? AND s.ended_at IS NULL AND s.expires_at > ? AND d.revoked_at IS NULL`

var (
	statement   *sql.Stmt
	key         []byte
	tokenHeader string
	issuer      = os.Getenv("SWITCHBOARD_PUBLIC_URL")
)

type claims struct {
	Sub      string `json:"sub"`
	Iss      string `json:"iss"`
	Aud      string `json:"aud"`
	Iat      *int64 `json:"iat"`
	Exp      int64  `json:"exp"`
	DeviceID string `json:"deviceId"`
	Type     string `json:"type"`
	Sid      string `json:"sid"`
	Gen      int64  `json:"gen"`
}

type preferences struct {
	PushEnabled   bool            `json:"push_enabled"`
	PushToken     *string         `json:"push_token"`
	Models        json.RawMessage `json:"preferred_models"`
	Quota         int64           `json:"archive_cache_quota_mb"`
	LastUpdatedAt string          `json:"last_updated_at"`
	DeviceID      string          `json:"device_id"`
	UserID        string          `json:"user_id"`
	Version       int64           `json:"version"`
}

// verify returns the claims of a valid access token of this site.
func verify(authorization string, now int64) *claims {
	if len(authorization) < 7 || !strings.EqualFold(authorization[:7], "bearer ") {
		return nil
	}
	token := authorization[7:]
	end := strings.LastIndexByte(token, '.')
	if len(token) > 4096 || !strings.HasPrefix(token, tokenHeader) || end < len(tokenHeader) {
		return nil
	}
	encoding := base64.RawURLEncoding.Strict()
	signature, err := encoding.DecodeString(token[end+1:])
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(token[:end]))
	if err != nil || !hmac.Equal(mac.Sum(nil), signature) {
		return nil
	}
	payload, err := encoding.DecodeString(token[len(tokenHeader):end])
	var found claims
	if err != nil || json.Unmarshal(payload, &found) != nil {
		return nil
	}
	isOurs := found.Type == "access" && found.Iss == issuer && found.Aud == "mwsim"
	isValid := found.Exp > now && found.Iat != nil && *found.Iat <= now+60
	isWhole := found.Sub != "" && found.DeviceID != "" && found.Sid != "" && found.Gen > 0
	if !isOurs || !isValid || !isWhole {
		return nil
	}
	return &found
}

func find(caller *claims, now time.Time) (*preferences, int) {
	var (
		result                     preferences
		generation                 int64
		confirmed                  bool
		hash, expiry, digest, base sql.NullString
		models                     []byte
		updated                    time.Time
		platform                   string
	)
	row := statement.QueryRow(caller.Sid, now.UTC())
	err := row.Scan(&result.DeviceID, &generation, &confirmed, &hash, &expiry, &result.PushEnabled,
		&result.PushToken, &models, &result.Quota, &updated, &result.Version, &digest, &base, &platform)
	if err == sql.ErrNoRows {
		return nil, 401
	}
	if err != nil || (!confirmed && generation == caller.Gen) {
		return nil, 501
	}
	result.Models, result.UserID = models, caller.Sub
	result.LastUpdatedAt = updated.Format("2006-01-02T15:04:05Z")
	return &result, 200
}

func handle(response http.ResponseWriter, request *http.Request) {
	now := time.Now()
	status, body := 401, []byte("{}")
	if request.URL.Path != "/api/v1/device-prefs" {
		status = 404
	} else if request.Method != "GET" || request.Header.Get("X-Device-Credential") != "" {
		status = 501
	} else if caller := verify(request.Header.Get("Authorization"), now.Unix()); caller != nil {
		var found *preferences
		if found, status = find(caller, now); status == 200 {
			var buffer bytes.Buffer
			encoder := json.NewEncoder(&buffer)
			encoder.SetEscapeHTML(false)
			if encoder.Encode(found) != nil {
				status = 500
			}
			body = bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))
		}
	}
	header := response.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Request-Id", fcgi.ProcessEnv(request)["REQUEST_ID"])
	header.Set("Content-Length", strconv.Itoa(len(body)))
	response.WriteHeader(status)
	response.Write(body)
}

func fileText(name string) string {
	text, err := os.ReadFile(os.Getenv(name))
	if err != nil {
		log.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func main() {
	name, secret, _ := strings.Cut(fileText("SWITCHBOARD_JWT_KEYS_FILE"), ":")
	var err error
	if key, err = base64.RawURLEncoding.DecodeString(strings.TrimRight(secret, "=")); err != nil {
		log.Fatal(err)
	}
	header := fmt.Sprintf(`{"alg":"HS256","kid":"%s","typ":"JWT"}`, name)
	tokenHeader = base64.RawURLEncoding.EncodeToString([]byte(header)) + "."
	source := fmt.Sprintf("%s:%s@unix(%s)/%s?parseTime=true&loc=UTC", os.Getenv("SWITCHBOARD_DB_USER"),
		fileText("SWITCHBOARD_DB_PASSWORD_FILE"), os.Getenv("SWITCHBOARD_DB_SOCKET"), os.Getenv("SWITCHBOARD_DB_NAME"))
	database, err := sql.Open("mysql", source)
	if err != nil {
		log.Fatal(err)
	}
	database.SetMaxOpenConns(4)
	database.SetMaxIdleConns(4)
	if statement, err = database.Prepare(read); err != nil {
		log.Fatal(err)
	}
	listener, err := net.FileListener(os.Stdin)
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(fcgi.Serve(listener, http.HandlerFunc(handle)))
}
