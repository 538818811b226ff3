/**
 * Pairing: a stranger who writes a direct message gets a code, and an owner or the operator lets them in by it
 * (`pairing-desk.ts`). Who was let in is kept in memory (`paired-people.ts`), because admission checks each message without a wait.
 */

import { chatPlatform } from "../../platforms/platforms.ts";
import { Notices } from "../../router/notices.ts";
import type { Strangers } from "../../router/strangers.ts";
import type { ActAsked, ActOutcome, Feature, OpenFeature, OpenParts } from "../feature.ts";
import { weirCommand } from "../../files/installation.ts";
import { listRequests, pairCommand } from "./command.ts";
import { PAIRING } from "./key.ts";
import { PairedPeople } from "./paired-people.ts";
import { describeStranger, PairingDesk, STRANGERS_COMMAND } from "./pairing-desk.ts";
import { OPERATOR, PairingStore, type PlatformPerson } from "./pairing-store.ts";

export const pairing: Feature<PairingDesk> = {
  key: PAIRING,
  commands: [{ command: pairCommand, after: "new" }],
  open,
};

function open({ setup, log, platforms, platformOf, database }: OpenParts): OpenFeature<PairingDesk, null> {
  const store = new PairingStore(database);
  const paired = new PairedPeople({
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
  const desk = new PairingDesk({
    store,
    platforms,
    notices: new Notices(platformOf, log),
    paired,
    ownersOf,
    log,
  });
  let isOpen = false;
  const strangers: Strangers = {
    find: (platform, person) => paired.find(platform, person),
    commandAnswer: STRANGERS_COMMAND,
    meet: async (message) => desk.meet(message),
    async open() {
      if (isOpen || !setup().bindings.some(({ dmLetsIn }) => dmLetsIn)) return;
      await paired.open();
      isOpen = true;
      log.info({ people: paired.size }, "direct_messages_by_pairing");
    },
  };
  return {
    service: desk,
    strangers,
    async inbox({ limit }) {
      const requests = await store.open(null);
      return requests.slice(0, limit).map((one) => {
        return {
          channel: null,
          since: one.askedAt,
          text: `${listRequests([one], weirCommand)} Otherwise nothing happens.`,
          id: idOf(one),
          acts: [
            { name: LET_IN, label: `Let in ${describeStranger(one)}` },
            { name: REFUSE, label: `Refuse ${describeStranger(one)}` },
          ],
        };
      });
    },
    act: async (asked) => actOnRequest(desk, asked),
    async [Symbol.asyncDispose]() {
      desk[Symbol.dispose]();
      await paired[Symbol.asyncDispose]();
    },
  };
}

const LET_IN = "let-in";
const REFUSE = "refuse";

function idOf({ platform, person }: PlatformPerson): string {
  return `${platform}:${person}`;
}

/** Lets somebody in for the operator, by the code of their request, as `weir pair CODE`; or takes that code away. */
async function actOnRequest(
  desk: Pick<PairingDesk, "open" | "letIn" | "refuse">,
  { item, act }: ActAsked,
): Promise<ActOutcome> {
  const found = (await desk.open(null)).find((one) => idOf(one) === item);
  if (found === undefined) return OVER;
  const who = describeStranger(found);
  if (act === REFUSE && (await desk.refuse(found, OPERATOR)))
    return {
      isDone: true,
      sentence: `${who} is not let in. They may ask again when the hour of their code is over.`,
    };
  if (act === LET_IN && (await desk.letIn(found.code, found.platform, OPERATOR)).outcome === "let_in")
    return { isDone: true, sentence: `${who} is let in, and is told so.` };
  return OVER;
}

const OVER: ActOutcome = {
  isDone: false,
  sentence: "This request is over: its code was used or refused, or is older than an hour.",
};
