/** The settings that replicas on one Redis must share. If they differ, each replica gives clients another answer. */
import { digestText, type SettingDigests } from '../core/settings.ts'
import { isObject } from '../core/values.ts'
import { type Config, schema } from './schema.ts'
import { formatPath, getIn, listLeaves, pathOf, startsWith } from './tree.ts'

const SHARED = ['access', 'cache', 'cluster'].map(pathOf)
/** Paths of files, which may lie elsewhere on each machine, ways to the nodes and to Redis, and the memory of a machine. */
const OF_THE_MACHINE = [
  'access.users',
  'access.tokens.keys',
  'cache.redis',
  'cache.localBytes',
  'cache.encryptionKeyFile',
  'cluster.nodes',
  'cluster.addresses',
  'cluster.tls',
  'cluster.credentials.passwordFile',
].map(pathOf)

/** Secrets are left out: who reads Redis must not be able to try passwords. */
export function digestSharedSettings(config: Config): SettingDigests {
  const shared = listLeaves(schema).filter(
    ({ path, schema: { secret } }) =>
      secret !== true &&
      SHARED.some((head) => startsWith(path, head)) &&
      !OF_THE_MACHINE.some((head) => startsWith(path, head)),
  )
  return Object.fromEntries(
    shared.map(({ path }) => {
      const text = JSON.stringify(sortKeys(getIn(config, path))) ?? 'none'
      return [formatPath(path), digestText(text)]
    }),
  )
}

/** Tables mean the same in each order of their keys. */
function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (!isObject(value)) return value
  const sorted = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(sorted.map(([key, member]) => [key, sortKeys(member)]))
}
