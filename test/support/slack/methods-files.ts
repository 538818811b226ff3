import { ApiError, type Arguments } from "./arguments.ts";
import type { Method, MethodContext } from "./method.ts";
import type { JsonObject } from "./model.ts";
import { renderFile } from "./rendering.ts";

/** Uploads in two steps; `files.info` shows where a file is shared. */
export const fileMethods: Readonly<Record<string, Method>> = {
  "files.info": { scope: "files:read", run: fileInfo },
  "files.getUploadURLExternal": { scope: "files:write", run: getUploadUrl },
  "files.completeUploadExternal": { scope: "files:write", run: completeUpload },
};

function fileInfo(args: Arguments, { workspace, origin }: MethodContext): JsonObject {
  const file = workspace.files.get(args.required("file"));
  if (file === undefined) throw new ApiError("file_not_found");
  const shares: Record<string, { ts: string }[]> = {};
  for (const { id, messages } of workspace.channels.values())
    for (const { ts, files } of messages)
      if (files.some((one) => one.id === file.id)) shares[id] = [...(shares[id] ?? []), { ts }];
  return { file: { ...renderFile(file, origin), shares: { public: shares } } };
}

function getUploadUrl(args: Arguments, { workspace, origin }: MethodContext): JsonObject {
  const name = args.required("filename");
  const length = args.count("length", 0, 1_000_000_000);
  const id = workspace.newId("F");
  workspace.uploads.set(id, { name, length, content: undefined });
  return { upload_url: `${origin}/upload/v1/${id}`, file_id: id };
}

function completeUpload(args: Arguments, { workspace, feed, origin }: MethodContext): JsonObject {
  const channel = workspace.channels.get(args.required("channel_id"));
  if (channel === undefined) throw new ApiError("channel_not_found");
  const asked = (args.list("files") ?? []).map((one) => {
    const id: unknown = typeof one === "object" && one !== null ? Reflect.get(one, "id") : undefined;
    const upload = typeof id === "string" ? workspace.uploads.get(id) : undefined;
    if (typeof id !== "string" || upload?.content === undefined) throw new ApiError("file_not_found");
    return { id, name: upload.name, content: upload.content };
  });
  const files = asked.map(({ id, name, content }) => ({
    id,
    name,
    mimetype: "text/plain",
    user: workspace.bot.id,
    content,
    size: content.length,
  }));
  for (const file of files) {
    workspace.files.set(file.id, file);
    workspace.uploads.delete(file.id);
  }
  const message = workspace.post({
    channel: channel.id,
    text: args.text("initial_comment") ?? "",
    user: workspace.bot.id,
    botId: workspace.bot.botId,
    subtype: "file_share",
    threadTs: args.text("thread_ts"),
    files,
  });
  feed.posted(message);
  return { files: files.map((file) => renderFile(file, origin)) };
}
