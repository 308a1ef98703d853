// apns-go URL CA COUNT IN-FLIGHT: sends the same notifications with Go's net/http over one HTTP/2 connection. Prints the
// duration (s) and the CPU time (s).
package main

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const payload = `{"aps":{"alert":"It's your turn in: Friendly match","badge":1,"sound":"default"},` +
	`"web_url":"https://online-go.com/game/79504999","app_url":"ogs://game/79504999","game_id":79504999,` +
	`"action":"open_game","game_name":"Friendly match"}`

var authorization = "bearer " + strings.Repeat("t", 220)

func processorTime() float64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func send(client *http.Client, url string, number int, expiration string) {
	request, err := http.NewRequest("POST", url+"/3/device/"+digest(fmt.Sprint("device ", number)), strings.NewReader(payload))
	if err != nil {
		log.Fatal(err)
	}
	id := digest(fmt.Sprint("id ", number))
	request.Header.Set("Authorization", authorization)
	request.Header.Set("Apns-Push-Type", "alert")
	request.Header.Set("Apns-Topic", "com.example.switchboard")
	request.Header.Set("Apns-Priority", "10")
	request.Header.Set("Apns-Expiration", expiration)
	request.Header.Set("Apns-Id", id[:8]+"-"+id[8:12]+"-"+id[12:16]+"-"+id[16:20]+"-"+id[20:32])
	request.Header.Set("Apns-Collapse-Id", digest(fmt.Sprint("event ", number))[:32])
	response, err := client.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	io.Copy(io.Discard, response.Body)
	response.Body.Close()
	if response.StatusCode != 200 || response.ProtoMajor != 2 {
		log.Fatal(response.Proto, " ", response.Status)
	}
}

func main() {
	url, count, inFlight := os.Args[1], number(os.Args[3]), number(os.Args[4])
	// net/http waits without end for a connection that another request holds.
	time.AfterFunc(2*time.Minute, func() { log.Fatal("not all requests were answered in two minutes") })
	pem, err := os.ReadFile(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true, MaxConnsPerHost: 1,
	}}
	expiration := strconv.FormatInt(time.Now().Unix()+86400, 10)
	began, before := time.Now(), processorTime()
	send(client, url, 0, expiration) // alone, as Apple requires; it opens the shared connection
	numbers := make(chan int, inFlight)
	var group sync.WaitGroup
	for worker := 0; worker < inFlight; worker++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for number := range numbers {
				send(client, url, number, expiration)
			}
		}()
	}
	for number := 1; number < count; number++ {
		numbers <- number
	}
	close(numbers)
	group.Wait()
	fmt.Printf("{\"seconds\":%f,\"cpu\":%f}\n", time.Since(began).Seconds(), processorTime()-before)
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	if err != nil {
		log.Fatal(err)
	}
	return value
}
