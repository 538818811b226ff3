import type { ServerResponse } from "node:http";

import { type FaultScript, waitAsSlow } from "./faults.ts";
import type { Journal } from "./journal.ts";
import type { Workspace } from "./model.ts";

export interface DownloadRequest {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly response: ServerResponse;
}

/** `url_private` and `url_private_download`. Without the token, Slack returns its sign-in page: a 200 with HTML. */
export class Downloads {
  readonly #workspace: Workspace;
  readonly #journal: Journal;
  readonly #faults: FaultScript;
  readonly #botToken: string;
  readonly #stopping: AbortSignal;

  constructor(
    workspace: Workspace,
    journal: Journal,
    faults: FaultScript,
    botToken: string,
    stopping: AbortSignal,
  ) {
    this.#workspace = workspace;
    this.#journal = journal;
    this.#faults = faults;
    this.#botToken = botToken;
    this.#stopping = stopping;
  }

  async serve({ path, authorization, response }: DownloadRequest): Promise<void> {
    const fileId = path.split("/")[2]?.split("-")[1] ?? "";
    const status = await this.#serveFile(fileId, authorization, response);
    this.#journal.add({ kind: "download", fileId, status });
  }

  /** Returns the status; 0: the connection was cut in the middle. */
  async #serveFile(
    fileId: string,
    authorization: string | undefined,
    response: ServerResponse,
  ): Promise<number> {
    const fault = this.#faults.take("files.download", { file: fileId });
    if (fault?.fault === "slow_before") await waitAsSlow(fault, this.#stopping);
    if (fault?.fault === "hang_before") return 0;
    if (authorization !== `Bearer ${this.#botToken}`) {
      response.writeHead(302, { location: "/signin" }).end();
      return 302;
    }
    const file = this.#workspace.files.get(fileId);
    const status = fault?.fault === "status" ? fault.status : file === undefined ? 404 : 200;
    if (status !== 200 || file === undefined) {
      response.writeHead(status, { "content-type": "text/html" }).end("<html>Not here.</html>");
      return status;
    }
    // No content-length, which exposes a client that trusts the record's size instead of counting.
    response.writeHead(200, { "content-type": file.mimetype });
    const half = Math.ceil(file.content.length / 2);
    response.write(file.content.subarray(0, half));
    if (fault?.fault === "reset_before" || fault?.fault === "reset_after") {
      response.destroy();
      return 0;
    }
    if (fault?.fault === "slow_after") await waitAsSlow(fault, this.#stopping);
    response.end(file.content.subarray(half));
    return 200;
  }
}
