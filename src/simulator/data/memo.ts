/**
 * Works a value out once for each key, for what is a pure function of its key. Beyond `most` values the one that
 * was asked for longest ago is forgotten. What `make` throws is not kept.
 */
export function memo<V>(most: number): (key: string, make: () => V) => V {
  const kept = new Map<string, V>()
  return (key, make) => {
    const value = kept.get(key) ?? make()
    // A map remembers the order of insertion: taken out and put in again, a key is the youngest.
    kept.delete(key)
    kept.set(key, value)
    const [oldest] = kept.size > most ? kept.keys() : []
    if (oldest !== undefined) kept.delete(oldest)
    return value
  }
}
