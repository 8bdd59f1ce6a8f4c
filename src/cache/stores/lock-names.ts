/** The names of locks across replicas. All replicas of a Redis must use the same. */
import { hash } from 'node:crypto'
import type { TagEpochs } from '../../core/stored-response.ts'
import { redisKeys } from '../../replicas/options.ts'

/**
 * The epochs are part of the name: a fetch that began before a write must not be joined after it. In braces, the name of the entry
 * is the hash tag: on a Redis Cluster, scripts may use both keys (`isLockBesideEntry`).
 */
export function fetchLockName(key: string, { generation, epochs }: TagEpochs): string {
  return `{${redisKeys.entry(key)}}:${digest([generation, ...epochs])}`
}

/**
 * Whether the fetch lock of an entry is in its slot on a Redis Cluster. A hash tag ends at the first closing brace, and keys contain
 * values of clients.
 */
export function isLockBesideEntry(key: string): boolean {
  return !key.includes('}')
}

/** Names of writes contain paths. Replicas of version 0.1.0 take the same lock: both wait for each other. */
export function writeLockName(name: string): string {
  return `turn:${hash('sha256', name, 'base64url')}:${digest(['turn'])}`
}

function digest(texts: readonly string[]): string {
  return hash('sha256', JSON.stringify(texts), 'base64url').slice(0, 22)
}
