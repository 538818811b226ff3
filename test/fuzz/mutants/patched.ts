/** Replaces a method of a class. @returns puts it back */
export function patched<Class extends object, Name extends keyof Class>(
  prototype: Class,
  name: Name,
  change: (method: Class[Name]) => Class[Name],
): () => void {
  const method = prototype[name];
  prototype[name] = change(method);
  return () => {
    prototype[name] = method;
  };
}
