// Signs, waits, downloads, verifies and checks a callback, against a running
// server that may call 127.0.0.1. It ends with 0 where all of it worked.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { file, Rogito, RogitoError, SignError, verifyCallback, type Delivery } from "../src/index.js";

const env = (name: string): string => {
  const value = process.env[name];
  assert.ok(value, `${name} is not set`);
  return value;
};

const rogito = new Rogito({ baseUrl: env("ROGITO_URL"), token: env("ROGITO_TOKEN") });
const secret = env("ROGITO_WEBHOOK_SECRET");
const credentials = { certificateUsername: env("ROGITO_USERNAME"), certificatePassword: env("ROGITO_PASSWORD") };

let told: (d: Delivery) => void;
const done = new Promise<Delivery>((resolve) => (told = resolve));
const receiver = createServer((request, response) => {
  const pieces: Buffer[] = [];
  request.on("data", (piece: Buffer) => pieces.push(piece));
  request.on("end", () => {
    const body = Buffer.concat(pieces);
    const good = verifyCallback(request.headers, body, [secret]);
    response.writeHead(good ? 204 : 403).end();
    assert.ok(good, "the callback's signature");
    assert.ok(!verifyCallback(request.headers, Buffer.concat([body, Buffer.from(" ")]), secret), "another body passes");
    assert.ok(!verifyCallback(request.headers, body, "whsec_" + Buffer.from("another").toString("base64")), "another secret passes");
    assert.ok(!verifyCallback(request.headers, body, secret, new Date(Date.now() + 400_000)), "an old one passes");
    const delivery = JSON.parse(body.toString()) as Delivery;
    if (delivery.data.state === "DONE") told(delivery);
  });
});
await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
const port = (receiver.address() as AddressInfo).port;

const key = `key-${Date.now()}`;
const request = {
  ...credentials,
  inputDocuments: [await file(env("ROGITO_DOCUMENT"))],
  title: "from TypeScript",
  options: { asyncSignature: true, level: "B" as const },
  callback: { url: `http://127.0.0.1:${port}/hook`, custom: { from: "TypeScript" } },
};
const asked = await rogito.sign("automatic", request, key);
assert.equal(asked.state, "WAIT_SIGN");
assert.equal((await rogito.sign("automatic", request, key)).id, asked.id, "the same key gives another record");
const record = await rogito.wait(asked.id, AbortSignal.timeout(30_000));
const signed = await rogito.download(record.id);
assert.equal(Buffer.from(signed.subarray(0, 5)).toString(), "%PDF-");
assert.equal(signed.length, record.document.signedDocument?.size);
const report = await rogito.verify(signed);
assert.equal(report.overallVerified, true);
assert.equal(report.signatureReportList.length, 1);
const delivery = await done;
assert.equal(delivery.data.id, record.id);
assert.deepEqual(delivery.custom, { from: "TypeScript" });

await assert.rejects(rogito.signature("0".repeat(24)), (e) => e instanceof RogitoError && e.code === 140 && e.status === 404 && e.requestId !== "");
await assert.rejects(
  rogito.sign("automatic", { ...credentials, certificatePassword: "wrong", inputDocuments: "aGVsbG8=" }),
  (e) => e instanceof SignError && e.record.errorNumber === 110,
);
receiver.close();
console.log("signed", record.id);
