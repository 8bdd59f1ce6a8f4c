/**
 * Caches the values of a pure function by key. Beyond `most` values the least recently used one is removed. Exceptions
 * of
 * `make` are not cached.
 */
export function memo<V>(most: number): (key: string, make: () => V) => V {
  const values = new Map<string, V>()
  return (key, make) => {
    const value = values.get(key) ?? make()
    // A map has insertion order: deleting and inserting a key again makes it the newest.
    values.delete(key)
    values.set(key, value)
    const [oldest] = values.size > most ? values.keys() : []
    if (oldest !== undefined) values.delete(oldest)
    return value
  }
}
