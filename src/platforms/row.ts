import type { Logger } from "pino";
import type { z } from "zod";
import type { CamelCased } from "../config/camel-case.ts";
import type { ChatPlatformConfig } from "../config/chat-platform.ts";
import type * as kit from "../config/schema/values.ts";
import type { Finding } from "../core/errors.ts";
import type { Server } from "../core/message.ts";
import type { Platform, PlatformCommand } from "./platform.ts";
import type { ShardHomes } from "./shared/shard-homes.ts";

/** What options of the configuration are made of. It is handed in: `weir --help` reads the rows, and not zod. */
export type OptionKit = typeof kit;

/** Values of the secrets in a section, by option; null: it is not set. What is no secret is not in it. */
type Secrets<Options> = CamelCased<{ readonly [Option in keyof Options]?: string | null }>;

/** A section of the configuration with its defaults. */
type Section<Options extends z.ZodRawShape> = CamelCased<z.output<z.ZodObject<Options>>>;

type Own<Configured> = Omit<Configured, keyof ChatPlatformConfig>;

/**
 * All that the rest of Weir knows of a chat platform before it is connected. Rows are in `platforms.ts`, and below the configuration:
 * a row imports nothing of weight but by `import()`, when it is asked.
 *
 * `Options`: those of `[platforms.KEY]` beside the ones that all chat platforms have. `Configured`: what they come to.
 */
export interface PlatformRow<
  Options extends z.ZodRawShape = z.ZodRawShape,
  Configured extends ChatPlatformConfig = ChatPlatformConfig,
> {
  /** The `platform` of its addresses, `slack` in `slack:C012345`: small letters. */
  readonly key: string;
  /** As the platform writes its name: `Slack`. */
  readonly title: string;
  /** The page that says how to connect it: `docs/slack.md`. */
  readonly guide: string;
  /** Its option whose secret switches it on. Without it the platform is off. */
  readonly token: keyof Options & string;
  /** What an id of a server, a channel, a role or a person may look like: no name in the configuration that does is a name. */
  readonly ids: RegExp;
  /** The options of its section, each with a default. A secret has the type `kit.secret`, and its default names its variable. */
  options(kit: OptionKit): Options;
  /** Null: the platform is off, for it has no token, or not all that `lacks` tells of. */
  resolve(section: Section<Options>, secrets: Secrets<Options>): Own<Configured> | null;
  /** Of a platform that has its token: a secret that is missing; `or`: another way out, behind its variable. Default: the token is all. */
  lacks?(
    section: Section<Options>,
    secrets: Secrets<Options>,
  ): { readonly option: keyof Options & string; readonly or?: string } | null;
  /**
   * Properties of its configuration that are computed from several options: by property, those options, each as
   * `.name`. Default: there are none.
   */
  readonly madeOf?: Readonly<Record<string, readonly string[]>>;
  /** How it is connected, for `weir config check`: `by Socket Mode`. Default: there is one way. */
  describe?(config: Configured): string;
  /** Makes the adapter, which connects when it is started. */
  open(config: Configured, parts: AdapterParts): Promise<Platform>;
  /** Looks for mistakes of the operator, for `weir doctor` and `weir init`. Takes 20 s at most; does not throw. */
  diagnose(config: Configured): Promise<readonly Finding[]>;
  /**
   * How the bot comes to where people are, for `weir invite`: what to do with a link, which ends with a colon, and the link.
   * @param config null: the platform is off
   * @throws OperatorError if that cannot be told without a token, or by this one; PlatformError if the platform does not answer
   */
  invite(config: Configured | null): Promise<{ readonly what: string; readonly link: string }>;
  /**
   * The servers that the bot is in, of a platform where anybody may bring it into a server of theirs: there, a name in the configuration
   * holds only in the servers that were met with it. Default: only the operator can bring it anywhere.
   * @throws OperatorError if the token is wrong; PlatformError if the platform does not answer
   */
  servers?(config: Configured): Promise<readonly Server[]>;
  /** Where Weir listens for the platform, by the option `listen`; null: it does not. Default: null. */
  listens?(config: Configured): { readonly host: string; readonly port: number } | null;
  /** What `weir init` asks. */
  readonly questions: {
    /** What has to be done on the platform first. */
    readonly before: string;
    /** Asked for one after the other, and kept in the variable that the option's default names. */
    readonly secrets: readonly { readonly option: keyof Options & string; readonly question: string }[];
    /** Where people find their own id. */
    readonly personHint: string;
    /** The form of a person's id. */
    readonly person: RegExp;
  };
}

export interface AdapterParts {
  readonly log: Logger;
  /** What people can ask for there. */
  readonly commands: readonly PlatformCommand[];
  /** Which connections this daemon has, of a platform that divides a bot's servers among several. Default: all. */
  readonly shardHomes?: ShardHomes;
}
