import type { LetInPerson } from "../../router/strangers.ts";
import { sliceWhole, storableText } from "../../text/text.ts";
import { Rows } from "../../store/database/rows.ts";

export interface PlatformPerson {
  readonly platform: string;
  readonly person: string;
}

/** A person who was let in to direct messages. */
export interface PairedPerson extends PlatformPerson, LetInPerson {
  /** `platform:id` of an owner; `operator`: by the command line. */
  readonly letInBy: string;
}

/** Somebody who asks to be let in. */
export interface PairingRequest extends PlatformPerson {
  readonly name: string;
  readonly code: string;
  readonly askedAt: Date;
}

/** The outcome of a stranger's message; see `ask_pairing`. */
export type PairingState = "paired" | "asked" | "waiting";

/** The author in the rows of changes by the command line and the page. */
export const OPERATOR = "operator";

export const CODE_VALID_MS = 3_600_000;
/** Codes of one platform that are valid at a time: the oldest yields to a new one. */
export const MOST_CODES = 50;
/** Least time between two reports to owners. */
const NEWS_EVERY_MS = 60_000;
/** Longest stored name, in UTF-16 units. */
const MAX_NAME = 100;

const VALID = `interval '${CODE_VALID_MS} milliseconds'`;

export class PairingStore extends Rows {
  /** @param said their message @param code the person's, if they have none yet */
  async ask(
    { platform, person, name }: PlatformPerson & { readonly name: string },
    said: { readonly channel: string; readonly id: string; readonly at: Date },
    code: string,
  ): Promise<PairingState> {
    const [row] = await this.db.query<{ state: PairingState }>(
      "pairing_ask",
      `select ask_pairing($1, $2, $3, $4, $5, $6, $7, $8, ${VALID}) as state`,
      [
        platform,
        storableText(person),
        sliceWhole(storableText(name), 0, MAX_NAME),
        storableText(said.channel),
        code,
        said.at,
        storableText(said.id),
        MOST_CODES,
      ],
    );
    return row?.state ?? "waiting";
  }

  /** Requests whose code is valid, oldest first. @param platform null: of all platforms */
  async open(platform: string | null): Promise<PairingRequest[]> {
    return this.db.query<PairingRequest>(
      "pairing_open",
      `select platform, person, name, code, asked_at from pairing_requests
        where ($1::text is null or platform = $1) and asked_at > clock_timestamp() - ${VALID} and code <> ''
        order by asked_at, platform, person`,
      [platform],
    );
  }

  /** @param by who lets them in @returns false: the request is not valid any more */
  async letIn(
    { platform, person, code }: Pick<PairingRequest, "platform" | "person" | "code">,
    by: string,
  ): Promise<boolean> {
    const [row] = await this.db.query<{ done: boolean }>(
      "pairing_let_in",
      `select pair_person($1, $2, $3, $4, ${VALID}) as done`,
      [platform, person, code, storableText(by)],
    );
    return row?.done === true;
  }

  /**
   * Takes the code of a request away: it lets nobody in, and its person gets no other one before the hour is over.
   * @returns false: the request is not valid any more
   */
  async refuse(request: Pick<PairingRequest, "platform" | "person" | "code">): Promise<boolean> {
    const { platform, person, code } = request;
    const rows = await this.db.query(
      "pairing_refuse",
      `update pairing_requests set code = '', owners_know = true
        where platform = $1 and person = $2 and code = $3 and asked_at > clock_timestamp() - ${VALID} returning person`,
      [platform, person, code],
    );
    return rows.length > 0;
  }

  /** Lets a person in who need not have asked. @param by who lets them in @returns false: they were let in before */
  async letInById({ platform, person }: PlatformPerson, by: string): Promise<boolean> {
    const [row] = await this.db.query<{ done: boolean }>(
      "pairing_let_in_by_id",
      "select pair_user($1, $2, $3) as done",
      [platform, storableText(person), storableText(by)],
    );
    return row?.done === true;
  }

  /**
   * Requests that the caller reports to the owners of a platform now; then it calls {@link ownersKnow}. `waitMs`: until the next report is
   * allowed; 0: there is nothing new to report.
   */
  async takeNews(
    platform: string,
  ): Promise<{ readonly requests: readonly PairingRequest[]; readonly waitMs: number }> {
    const [row] = await this.db.query<{ waitMs: number; codes: string[] }>(
      "pairing_news",
      `select wait_ms, codes from take_pairing_news($1, interval '${NEWS_EVERY_MS} milliseconds', ${VALID})`,
      [platform],
    );
    const { waitMs = 0, codes = [] } = row ?? {};
    const open = codes.length === 0 ? [] : await this.open(platform);
    return { waitMs, requests: open.filter(({ code }) => codes.includes(code)) };
  }

  async ownersKnow(platform: string, requests: readonly PairingRequest[]): Promise<void> {
    await this.db.query(
      "pairing_owners_know",
      "update pairing_requests set owners_know = true where platform = $1 and code = any ($2)",
      [platform, requests.map(({ code }) => code)],
    );
  }

  /** Reverses letting a person in. @returns false: they were not let in */
  async remove({ platform, person }: PlatformPerson): Promise<boolean> {
    const [row] = await this.db.query<{ done: boolean }>(
      "pairing_remove",
      "select unpair_person($1, $2) as done",
      [platform, storableText(person)],
    );
    return row?.done === true;
  }

  /** Everybody who was let in, the newest first. */
  async people(): Promise<PairedPerson[]> {
    return this.db.query<PairedPerson>(
      "pairing_people",
      "select platform, person, since, let_in_by, unread_to, unread_ids from paired_people order by since desc, platform, person",
    );
  }

  /** A text that changes with each change of the requests and the people; cheap enough to read each second. */
  async version(): Promise<string> {
    const [row] = await this.db.query<{ version: string }>(
      "pairing_version",
      `select count(*) || ' ' || coalesce(max(since)::text, '') || ' ' ||
                (select coalesce(max(asked_at)::text, '') from pairing_requests) as version from paired_people`,
    );
    return row?.version ?? "";
  }

  /** People of these platforms whose welcome is still to be sent; each is returned once, to one caller. */
  async toGreet(
    platforms: readonly string[],
  ): Promise<{ readonly platform: string; readonly channel: string }[]> {
    return this.db.query(
      "pairing_to_greet",
      `update paired_people p set greet_in = null
         from paired_people o
        where o.platform = p.platform and o.person = p.person and p.greet_in is not null and p.platform = any ($1)
       returning p.platform, o.greet_in as channel`,
      [platforms],
    );
  }
}
