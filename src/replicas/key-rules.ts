/** The types of the keys of the edge in Redis. */
import { redisKeys } from './options.ts'

export interface KeyRule {
  readonly matches: (key: string) => boolean
  readonly type: 'string' | 'hash' | 'set' | 'zset'
  readonly repair: 'delete' | 'report'
}

function exactly(name: string, type: KeyRule['type'], repair: KeyRule['repair']): KeyRule {
  return { matches: (key) => key === name, type, repair }
}

function starting(start: string, type: KeyRule['type'], repair: KeyRule['repair'], end = ''): KeyRule {
  return { matches: (key) => key.startsWith(start) && key.endsWith(end), type, repair }
}

const { access, descriptions } = redisKeys

/** What each kind of key holds, and what repairs it. */
export const KEY_RULES: Readonly<Record<keyof typeof redisKeys, readonly KeyRule[]>> = {
  epochs: [exactly(redisKeys.epochs, 'hash', 'delete')],
  entry: [starting(redisKeys.entry(''), 'string', 'delete')],
  part: [starting(redisKeys.part(''), 'string', 'delete')],
  lock: [starting(redisKeys.lock(''), 'string', 'delete')],
  groups: [exactly(redisKeys.groups, 'set', 'delete')],
  index: ['}', '}:rows', '}:hits'].map((end, at) => starting('edge:i:{', at === 0 ? 'zset' : 'hash', 'delete', end)),
  access: [
    exactly(access('revoked'), 'zset', 'report'),
    exactly(access('facts'), 'hash', 'report'),
    exactly(access('ends'), 'zset', 'report'),
    // Without it, every replica writes the revocations that it knows, as after a flush.
    exactly(access('born'), 'string', 'delete'),
    starting(access(''), 'string', 'report'),
  ],
  descriptions: descriptions.map((key, at) => exactly(key, at === 0 ? 'zset' : 'hash', 'delete')),
  slots: [starting(redisKeys.slots(''), 'string', 'report')],
}
