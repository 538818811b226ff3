/** An error in Discord's form: `{ message, code, errors? }`. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: number;
  readonly errors: object | null;

  constructor(status: number, code: number, message: string, errors: object | null = null) {
    super(message);
    this.status = status;
    this.code = code;
    this.errors = errors;
  }

  get body(): object {
    return {
      message: this.message,
      code: this.code,
      ...(this.errors === null ? {} : { errors: this.errors }),
    };
  }
}

export const unauthorized = (): ApiError => new ApiError(401, 0, "401: Unauthorized");
export const notFound = (): ApiError => new ApiError(404, 0, "404: Not Found");
export const missingAccess = (): ApiError => new ApiError(403, 50_001, "Missing Access");
export const missingPermissions = (): ApiError => new ApiError(403, 50_013, "Missing Permissions");
export const unknownChannel = (): ApiError => new ApiError(404, 10_003, "Unknown Channel");
export const unknownGuild = (): ApiError => new ApiError(404, 10_004, "Unknown Guild");
export const unknownMessage = (): ApiError => new ApiError(404, 10_008, "Unknown Message");
export const unknownUser = (): ApiError => new ApiError(404, 10_013, "Unknown User");
export const unknownEmoji = (): ApiError => new ApiError(400, 10_014, "Unknown Emoji");
export const unknownWebhook = (): ApiError => new ApiError(404, 10_015, "Unknown Webhook");
export const unknownInteraction = (): ApiError => new ApiError(404, 10_062, "Unknown interaction");
export const unknownCommand = (): ApiError => new ApiError(404, 10_063, "Unknown application command");
export const tooManyCommands = (): ApiError =>
  new ApiError(400, 30_032, "Maximum number of application commands reached (100)");
export const entryPointLeftOut = (): ApiError =>
  new ApiError(
    400,
    50_240,
    "You cannot remove this app's Entry Point command in a bulk update operation. Please include the Entry Point command in your update request or delete it separately.",
  );
export const alreadyAcknowledged = (): ApiError =>
  new ApiError(400, 40_060, "Interaction has already been acknowledged.");
export const cannotEditOthers = (): ApiError =>
  new ApiError(403, 50_005, "Cannot edit a message authored by another user");
export const wrongChannelType = (): ApiError =>
  new ApiError(400, 50_024, "Cannot execute action on this channel type");
export const threadArchived = (): ApiError => new ApiError(400, 50_083, "Thread is archived");
export const cannotReply = (): ApiError =>
  new ApiError(403, 160_002, "Cannot reply without permission to read message history");
export const emptyMessage = (): ApiError => new ApiError(400, 50_006, "Cannot send an empty message");
export const invalidWebhookToken = (): ApiError => new ApiError(401, 50_027, "Invalid Webhook Token");

/** 50035 for one field. */
export function invalidForm(field: string, code: string, message: string): ApiError {
  return new ApiError(400, 50_035, "Invalid Form Body", { [field]: { _errors: [{ code, message }] } });
}
