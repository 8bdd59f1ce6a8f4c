import { LRUCache } from 'lru-cache'

/**
 * Returns an LRU map of at most `maxEntries` whose memory grows with its entries. The option `max` of lru-cache allocates all
 * places at once: at a start, these would be some 300,000 in eight maps.
 */
export function growingLru<Key extends object | string, Value extends object | string | number | boolean>(
  maxEntries: number,
): LRUCache<Key, Value> {
  return new LRUCache({ maxSize: maxEntries, sizeCalculation: () => 1 })
}
