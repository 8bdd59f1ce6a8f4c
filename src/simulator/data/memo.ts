/**
 * Caches the values of a pure function by key. Beyond `most` values the least recently used one is removed. Exceptions
 * of
 * `make` are not cached.
 */
export function memo<V>(most: number): (key: string, make: () => V) => V {
  const kept = new Map<string, V>()
  return (key, make) => {
    const value = kept.get(key) ?? make()
    // A map has insertion order: deleting and inserting a key again makes it the newest.
    kept.delete(key)
    kept.set(key, value)
    const [oldest] = kept.size > most ? kept.keys() : []
    if (oldest !== undefined) kept.delete(oldest)
    return value
  }
}
