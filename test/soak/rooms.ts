/** The rooms in which people of a soak talk, on three platforms; each has the platform's own record of what was said. */
import assert from "node:assert/strict";
import { z } from "zod";
import type { DiscordServer } from "../support/discord/server.ts";
import type { SlackServer } from "../support/slack/server.ts";

/** One message as everybody in the room sees it. */
export interface Shown {
  /** As the log names it. */
  readonly id: string;
  readonly isBots: boolean;
  readonly text: string;
}

export interface Room {
  readonly platform: "discord" | "slack" | "loopback";
  /** The longest text that a person can say, UTF-16 units. */
  readonly most: number;
  /** @param asks it is said to the bot. @returns the message's id, as the log names it */
  say(person: number, text: string, asks: boolean): Promise<string>;
  edit(id: string, text: string): Promise<void>;
  remove(id: string): Promise<void>;
  /** Undefined: the platform has none. */
  react?(person: number, id: string): void;
  command(person: number, name: string, argument: string): Promise<void>;
  /** Oldest first. */
  shown(): Promise<Shown[]>;
}

const NAMES = ["ann", "bob", "zoe", "ume", "kai", "lea"] as const;
export const PEOPLE = NAMES.length;
/** Of so many rooms of a platform one is a direct message. */
const DM_EVERY = 4;

/** @returns the rooms, and who owns the bot there */
export function discordRooms(server: DiscordServer, count: number): { rooms: Room[]; owner: string } {
  const { world } = server;
  const guild = world.addGuild({ name: "Mill" });
  const people = NAMES.map((name) => world.addUser({ name }));
  const personOf = (index: number): string => people[index % people.length] ?? "";
  const makeRoom = (index: number): Room => {
    const isDm = index % DM_EVERY === DM_EVERY - 1;
    const channel = isDm ? world.openDm(personOf(index)) : world.addChannel({ guild, name: `soak-${index}` });
    const speaker = (person: number): string => personOf(isDm ? index : person);
    return {
      platform: "discord",
      most: 1900,
      say: async (person, text, asks) =>
        world.say(speaker(person), channel, asks && !isDm ? `<@${world.botId}> ${text}` : text),
      edit: async (id, text) => world.edit(id, text),
      remove: async (id) => world.remove(id),
      react: (person, id) => world.react(speaker(person), id, "👍"),
      command: async (person, name) => void world.command(speaker(person), channel, name),
      shown: async () => server.messages(channel),
    };
  };
  return { rooms: Array.from({ length: count }, (_, index) => makeRoom(index)), owner: personOf(0) };
}

export function slackRooms(server: SlackServer, count: number): { rooms: Room[]; owner: string } {
  const { world } = server;
  const people = NAMES.map((name) => world.addUser(name));
  const personOf = (index: number): (typeof people)[number] => {
    const person = people[index % people.length];
    assert.ok(person);
    return person;
  };
  const makeRoom = (index: number): Room => {
    const isDm = index % DM_EVERY === DM_EVERY - 1;
    const channel = isDm
      ? world.openIm(personOf(index))
      : world.addChannel({ name: `soak-${index}`, members: people });
    const speaker = (person: number): (typeof people)[number] => personOf(isDm ? index : person);
    const tsOf = (id: string): string => id.split("/")[1] ?? "";
    return {
      platform: "slack",
      most: 12_000,
      say: async (person, text, asks) => {
        const said = asks && !isDm ? `<@${world.bot.id}> ${text}` : text;
        return `${channel.id}/${world.say(speaker(person), channel, said)}`;
      },
      edit: async (id, text) => world.edit(channel, tsOf(id), text),
      remove: async (id) => world.remove(channel, tsOf(id)),
      react: (person, id) => world.react(speaker(person), channel, tsOf(id), "thumbsup"),
      command: async (person, name, argument) =>
        void world.command(speaker(person), channel, "/weir", `${name} ${argument}`.trim()),
      shown: async () =>
        channel.messages.map(({ ts, botId, text }) => ({
          id: `${channel.id}/${ts}`,
          isBots: botId === world.bot.botId,
          text,
        })),
    };
  };
  return { rooms: Array.from({ length: count }, (_, index) => makeRoom(index)), owner: personOf(0).id };
}

const conversation = z.object({
  messages: z.array(z.object({ id: z.string(), from: z.enum(["person", "bot"]), text: z.string() })),
});

/** @param url of the loopback service */
export function loopbackRooms(url: string, count: number): Room[] {
  const call = async (method: string, path: string, body?: object): Promise<unknown> => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${url}${path}`, { method, headers, ...sent });
    assert.ok(response.ok, `${method} ${path}: ${response.status}`);
    return response.json();
  };
  const makeRoom = (index: number): Room => {
    const path = `/channels/soak-${index}`;
    return {
      platform: "loopback",
      most: 12_000,
      say: async (person, text, asks) => {
        const author = NAMES[person % NAMES.length] ?? "";
        const said = await call("POST", `${path}/messages`, { author, text, listen: !asks });
        return z.object({ id: z.string() }).parse(said).id;
      },
      edit: async (id, text) => void (await call("PATCH", `${path}/messages/${id}`, { text })),
      remove: async (id) => void (await call("DELETE", `${path}/messages/${id}`)),
      command: async (person, name, argument) =>
        void (await call("POST", `${path}/commands`, { name, argument, asker: NAMES[person % PEOPLE] })),
      shown: async () => {
        const { messages } = conversation.parse(await call("GET", path));
        return messages.map(({ id, from, text }) => ({ id, isBots: from === "bot", text }));
      },
    };
  };
  return Array.from({ length: count }, (_, index) => makeRoom(index));
}
