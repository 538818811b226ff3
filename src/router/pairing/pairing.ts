import type { Logger } from "pino";
import type { Config } from "../../config/config.ts";
import { chatPlatform } from "../../platforms/platforms.ts";
import type { ChannelAddress } from "../../core/ids.ts";
import type { InboundMessage } from "../../core/message.ts";
import type { Platform } from "../../platforms/platform.ts";
import type { Store } from "../../store/store.ts";
import type { Binding, FindPaired } from "../bindings.ts";
import { Notices } from "../notices.ts";
import { PairedPeople } from "./paired-people.ts";
import { PairingDesk } from "./pairing-desk.ts";

interface PairingParts {
  /** The configuration in force, with who answers where by it. */
  readonly setup: () => { readonly config: Pick<Config, "platforms">; readonly bindings: readonly Binding[] };
  readonly store: Pick<Store, "pairing">;
  readonly platforms: readonly Platform[];
  readonly platformOf: (address: ChannelAddress) => Platform | undefined;
  readonly log: Logger;
}

/** Pairing: the people who are let in to direct messages, and the desk that lets them in. */
export interface Pairing extends AsyncDisposable {
  readonly desk: PairingDesk;
  readonly find: FindPaired;
  /** See {@link PairingDesk.meet}. */
  meet(message: InboundMessage): Promise<boolean>;
  /**
   * Reads the list of paired people if a binding uses pairing and it is not open yet.
   * @throws WeirError
   */
  open(): Promise<void>;
}

export function createPairing({ setup, log, platforms, ...parts }: PairingParts): Pairing {
  const store = parts.store.pairing;
  const notices = new Notices(parts.platformOf, log);
  const people = new PairedPeople({
    store,
    log,
    onChanged() {
      desk.greet();
      desk.tellOwners();
    },
  });
  const ownersOf = (name: string): readonly string[] => {
    const chat = chatPlatform(name);
    return chat === undefined ? [] : (setup().config.platforms[chat]?.owners ?? []);
  };
  const desk = new PairingDesk({ store, platforms, notices, paired: people, ownersOf, log });
  let isOpen = false;
  return {
    desk,
    find: (platform, person) => people.find(platform, person),
    meet: async (message) => desk.meet(message),
    async open() {
      if (isOpen || !setup().bindings.some(({ dmPairing }) => dmPairing)) return;
      await people.open();
      isOpen = true;
      log.info({ people: people.size }, "direct_messages_by_pairing");
    },
    async [Symbol.asyncDispose]() {
      desk[Symbol.dispose]();
      await people[Symbol.asyncDispose]();
    },
  };
}
