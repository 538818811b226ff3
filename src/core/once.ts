/**
 * A value that is made when it is first needed: what is dear to make and few runs use, such as expressions over all of Unicode, costs a
 * start of the program nothing.
 */
export function once<Value extends object>(make: () => Value): () => Value {
  let made: Value | undefined;
  return () => (made ??= make());
}
