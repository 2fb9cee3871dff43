// What @hey-api/openapi-ts generates signs, waits, downloads, verifies, and the
// callback that comes is from the server.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { client } from "./sdk/client.gen";
import { downloadSignedDocument, getSignature, signAutomatic, verify } from "./sdk/sdk.gen";
import type { SignatureChangedWebhookPayload } from "./sdk/types.gen";

const env = (name: string): string => process.env[name] ?? assert.fail(name);
client.setConfig({ baseUrl: env("ROGITO_URL"), auth: () => env("ROGITO_TOKEN") });

let told: (m: SignatureChangedWebhookPayload) => void;
const done = new Promise<SignatureChangedWebhookPayload>((resolve) => (told = resolve));
const receiver = createServer((request, response) => {
  let body = "";
  request.setEncoding("utf8");
  request.on("data", (piece: string) => (body += piece));
  request.on("end", () => {
    const h = request.headers;
    const key = Buffer.from(env("ROGITO_WEBHOOK_SECRET").replace("whsec_", ""), "base64");
    const want = "v1," + createHmac("sha256", key).update(`${h["webhook-id"]}.${h["webhook-timestamp"]}.${body}`).digest("base64");
    assert.ok(String(h["webhook-signature"]).split(" ").includes(want), "the callback's signature");
    response.writeHead(204).end();
    const message = JSON.parse(body) as SignatureChangedWebhookPayload;
    if (message.data.state === "DONE") told(message);
  });
});
await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));

const asked = await signAutomatic({
  body: {
    certificateUsername: env("ROGITO_USERNAME"),
    certificatePassword: env("ROGITO_PASSWORD"),
    inputDocuments: [readFileSync(env("ROGITO_DOCUMENT")).toString("base64")],
    options: { asyncSignature: true },
    callback: { url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook` },
  },
});
assert.ok(asked.data, asked.error?.message);
const id = asked.data.data.id;
const message = await done;
assert.equal(message.data.id, id);
const found = await getSignature({ path: { id } });
assert.equal(found.data?.data.state, "DONE");
const file = await downloadSignedDocument({ path: { id } });
assert.ok(file.data instanceof Blob);
const content = Buffer.from(await file.data.arrayBuffer());
assert.equal(content.subarray(0, 5).toString(), "%PDF-");
const verdict = await verify({ body: { inputDocument: content.toString("base64"), withPlainDocument: false } });
assert.equal(verdict.data?.data?.overallVerified, true);
const missing = await getSignature({ path: { id: "0".repeat(24) } });
assert.equal(missing.error?.error, 140);
receiver.close();
console.log("signed", id);
