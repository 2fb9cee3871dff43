// What openapi-generator makes for Go signs, downloads and verifies.
package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"os"

	api "example.org/signs/api"
)

func main() {
	ctx := context.WithValue(context.Background(), api.ContextAccessToken, os.Getenv("ROGITO_TOKEN"))
	document, err := os.ReadFile(os.Getenv("ROGITO_DOCUMENT"))
	check(err)
	config := api.NewConfiguration()
	config.Servers = api.ServerConfigurations{{URL: os.Getenv("ROGITO_URL")}}
	client := api.NewAPIClient(config)

	text := base64.StdEncoding.EncodeToString(document)
	request := api.NewSignatureRequest(os.Getenv("ROGITO_PASSWORD"), os.Getenv("ROGITO_USERNAME"), api.SignatureRequestInputDocuments{String: &text})
	signed, _, err := client.SignaturesAPI.SignAutomatic(ctx).SignatureRequest(*request).Execute()
	check(err)
	if signed.Data.State != "DONE" {
		log.Fatalf("sign: %+v", signed)
	}
	file, _, err := client.SignaturesAPI.DownloadSignedDocument(ctx, signed.Data.Id).Execute()
	check(err)
	got, err := io.ReadAll(file)
	check(err)
	if !bytes.HasPrefix(got, []byte("%PDF-")) {
		log.Fatalf("download: %.100s", got)
	}
	verdict, _, err := client.VerificationAPI.Verify(ctx).VerifyRequest(*api.NewVerifyRequest(base64.StdEncoding.EncodeToString(got))).Execute()
	check(err)
	if view := verdict.Data.Get(); view == nil || !view.OverallVerified {
		log.Fatalf("verify: %+v", verdict)
	}
	fmt.Println("signed", signed.Data.Id)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
