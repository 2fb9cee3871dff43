// A thin layer over the API of a Rogito server. The types are generated from
// the server's OpenAPI document (npm run generate); `api` is the whole API with
// them, and the methods here are what most callers want of it.

import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import createClient, { type Client } from "openapi-fetch";
import type { components, paths } from "./schema.js";

export type Schemas = components["schemas"];
export type SignatureRecord = Schemas["SignatureRecord"];
export type SignatureRequest = Schemas["SignatureRequest"];
export type InputDocument = Schemas["InputDocument"];
export type VerifyRequest = Schemas["VerifyRequest"];
export type Report = NonNullable<Schemas["VerifyAnswer"]["data"]>;
export type PeopleRequest = paths["/EU-SES"]["post"]["requestBody"]["content"]["application/json"];
export type Kind = "automatic" | "otp" | "eseal";

/** What the server refuses a call with. */
export class RogitoError extends Error {
  override name = "RogitoError";
  constructor(
    message: string,
    /** HTTP status */
    readonly status: number,
    /** of the table at /docs/errors; 0 where the answer was no envelope */
    readonly code: number,
    /** for the operator, who finds it in the log */
    readonly requestId: string,
  ) {
    super(message);
  }
}

/** A signature that was taken and then failed. */
export class SignError extends Error {
  override name = "SignError";
  constructor(readonly record: SignatureRecord) {
    super(`signature ${record.id} failed: ${record.errorMessage ?? ""} (code ${record.errorNumber ?? 0})`);
  }
}

/** A document on disk. */
export async function file(path: string): Promise<InputDocument> {
  return bytes(basename(path), await readFile(path));
}

/** A document in memory, under the name of a file. */
export function bytes(name: string, content: Uint8Array): InputDocument {
  return { sourceType: "base64", name, payload: Buffer.from(content).toString("base64") };
}

interface Answer<D> {
  data?: D;
  error?: unknown;
  response: Response;
}

function opened<D>({ data, error, response }: Answer<D>): D {
  if (data !== undefined) return data;
  const no = (typeof error === "object" && error !== null ? error : {}) as Partial<Schemas["Failure"]>;
  throw new RogitoError(no.message ?? response.statusText, response.status, no.error ?? 0, response.headers.get("x-request-id") ?? "");
}

export class Rogito {
  /** The whole API, typed. */
  readonly api: Client<paths>;

  constructor(options: { baseUrl: string; token: string; fetch?: typeof fetch }) {
    this.api = createClient<paths>({
      baseUrl: options.baseUrl.replace(/\/$/, ""),
      headers: { Authorization: `Bearer ${options.token}` },
      ...(options.fetch ? { fetch: options.fetch } : {}),
    });
  }

  /**
   * Asks for a signature. The record is DONE, or waits where `options` asks for
   * asynchronous work or a person must approve: then see wait. Under the same
   * idempotency key the same request gives the same record, for a day.
   */
  async sign(kind: Kind, request: SignatureRequest, idempotencyKey: string = randomUUID()): Promise<SignatureRecord> {
    const path = `/EU-QES_${kind}` as const;
    const answer = await this.api.POST(path, { body: request, params: { header: { "Idempotency-Key": idempotencyKey } } });
    return checked(opened(answer).data);
  }

  /**
   * Asks people to sign PDFs in a browser: `signers` of the record have the link of
   * each. With `advanced` every signer is identified, and signs with a certificate
   * for this one act.
   */
  async ask(request: PeopleRequest, advanced = false, idempotencyKey: string = randomUUID()): Promise<SignatureRecord> {
    const path = advanced ? "/EU-AES" : "/EU-SES";
    const answer = await this.api.POST(path, { body: request, params: { header: { "Idempotency-Key": idempotencyKey } } });
    return checked(opened(answer).data);
  }

  /** The record of a signature as it is now. */
  async signature(id: string): Promise<SignatureRecord> {
    return checked(opened(await this.api.GET("/signatures/{id}", { params: { path: { id } } })).data);
  }

  /** Asks for a record until it is DONE; one that failed is a SignError. */
  async wait(id: string, signal?: AbortSignal): Promise<SignatureRecord> {
    for (let pause = 100; ; pause = Math.min(pause * 1.5, 5000)) {
      const record = await this.signature(id);
      if (record.state === "DONE") return record;
      signal?.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  /** The signed document of a record that is DONE. */
  async download(id: string): Promise<Uint8Array> {
    const answer = await this.api.GET("/signatures/{id}/signedDocument", { params: { path: { id } }, parseAs: "arrayBuffer" });
    return new Uint8Array(opened(answer));
  }

  /** What the signatures of a document are worth: overallVerified of the report says whether to rely on it. */
  async verify(content: Uint8Array, options: Omit<VerifyRequest, "inputDocument"> = { withPlainDocument: false }): Promise<Report> {
    const body = { ...options, inputDocument: Buffer.from(content).toString("base64") };
    const report = opened(await this.api.POST("/verify", { body })).data;
    if (!report) throw new Error("the server answered without a report");
    return report;
  }
}

function checked(record: SignatureRecord): SignatureRecord {
  if (record.state === "ERROR") throw new SignError(record);
  return record;
}

/** What a callback carries. */
export interface Delivery<D = SignatureRecord> {
  data: D;
  custom: unknown;
}

/**
 * Checks the signature of a callback (Standard Webhooks) over its body, byte for
 * byte as it came. Secrets are those of GET /callbacks/secret; one that fits will
 * do, so that a rotation breaks nothing.
 */
export function verifyCallback(
  headers: Record<string, string | string[] | undefined>,
  body: Uint8Array | string,
  secrets: string | readonly string[],
  now: Date = new Date(),
): boolean {
  const header = (name: string): string => {
    const value = headers[name];
    return typeof value === "string" ? value : "";
  };
  const id = header("webhook-id");
  const at = header("webhook-timestamp");
  if (!id || !/^\d+$/.test(at) || Math.abs(now.getTime() / 1000 - Number(at)) > 300) return false;
  const given = header("webhook-signature").split(" ").map((s) => Buffer.from(s));
  return (typeof secrets === "string" ? [secrets] : secrets).some((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
    if (key.length === 0) return false;
    const want = Buffer.from("v1," + createHmac("sha256", key).update(`${id}.${at}.`).update(body).digest("base64"));
    return given.some((got) => got.length === want.length && timingSafeEqual(got, want));
  });
}
