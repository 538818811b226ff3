import { z } from "zod";

import type { JsonObject } from "./model.ts";

/** An answer with `ok: false` and this code. */
export class ApiError extends Error {
  readonly code: string;
  readonly fields: JsonObject;

  /** @param fields further fields of the answer */
  constructor(code: string, fields: JsonObject = {}) {
    super(code);
    this.code = code;
    this.fields = fields;
  }
}

const anyObject = z.record(z.string(), z.unknown());

/** The arguments of one call, from JSON or a form, where numbers, flags and objects are texts. */
export class Arguments {
  readonly fields: JsonObject;

  constructor(fields: JsonObject) {
    this.fields = fields;
  }

  /** @throws ApiError `invalid_arguments`, `invalid_form_data` or `invalid_json` */
  static parse(body: string, contentType: string, query: URLSearchParams): Arguments {
    const fields: JsonObject = Object.fromEntries(query);
    if (contentType.startsWith("application/json")) {
      try {
        return new Arguments({ ...fields, ...anyObject.parse(JSON.parse(body)) });
      } catch {
        throw new ApiError("invalid_json");
      }
    }
    if (contentType.startsWith("multipart/")) throw new ApiError("invalid_form_data");
    return new Arguments({ ...fields, ...Object.fromEntries(new URLSearchParams(body)) });
  }

  text(name: string): string | undefined {
    const value = this.fields[name];
    if (value === undefined || value === null || value === "") return undefined;
    return typeof value === "string" ? value : JSON.stringify(value);
  }

  /** @throws ApiError `invalid_arguments` */
  required(name: string): string {
    const value = this.text(name);
    if (value !== undefined) return value;
    throw new ApiError("invalid_arguments", {
      response_metadata: { messages: [`[ERROR] missing required field: ${name}`] },
    });
  }

  flag(name: string): boolean {
    return ["true", "1"].includes(this.text(name) ?? "");
  }

  /** @throws ApiError `invalid_limit` */
  count(name: string, fallback: number, most: number): number {
    const value = this.text(name);
    if (value === undefined) return fallback;
    const count = Number(value);
    if (!Number.isInteger(count) || count < 1) throw new ApiError("invalid_limit");
    return Math.min(count, most);
  }

  /** @throws ApiError `invalid_arguments` */
  json(name: string): unknown {
    const value = this.fields[name];
    if (typeof value !== "string") return value;
    try {
      return JSON.parse(value);
    } catch {
      throw new ApiError("invalid_arguments", {
        response_metadata: { messages: [`[ERROR] ${name} is no JSON`] },
      });
    }
  }

  list(name: string): readonly unknown[] | undefined {
    const value = this.json(name);
    return Array.isArray(value) ? value : undefined;
  }

  object(name: string): JsonObject | undefined {
    const value = anyObject.safeParse(this.json(name));
    return value.success ? value.data : undefined;
  }
}
