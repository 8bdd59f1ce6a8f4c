/** Tests of log lines against the ruleset, in sessions; and events that clients send. */
import { randomFor } from '../../data/random.ts'
import { rulesOf } from '../../data/ruleset.ts'
import type { World } from '../../model.ts'
import { type Answer, affected } from '../answers.ts'
import { type Asked, type Call, NO_TEXTS } from '../model.ts'

interface Sessions {
  count: number
  readonly open: Set<string>
}

const sessions = new WeakMap<World, Sessions>()

function sessionsOf(world: World): Sessions {
  const known = sessions.get(world) ?? { count: 0, open: new Set() }
  sessions.set(world, known)
  return known
}

/** Returns the token of the session, a new one for an unknown token, with what the daemon says about that. */
function sessionFor(world: World, wanted: unknown): { readonly token: string; readonly messages: string[] } {
  const known = sessionsOf(world)
  if (typeof wanted === 'string' && known.open.has(wanted)) return { token: wanted, messages: [] }
  known.count += 1
  const token = randomFor(world.seed, 'logtest', known.count).hex(8)
  known.open.add(token)
  const unknown = wanted === undefined ? [] : [`WARNING: (7309): '${String(wanted)}' is not a valid token`]
  return { token, messages: [...unknown, `INFO: (7202): Session initialized with token '${token}'`] }
}

/** The first rule whose text the line contains. Rules that only other rules lead to are not tried. */
function ruleFor({ node }: Asked, line: string) {
  return rulesOf(node.files).find(({ details }) => {
    const { match } = details as { readonly match?: unknown }
    return typeof match === 'string' && match.split('|').some((part) => part !== '' && line.includes(part))
  })
}

function test(asked: Asked): Answer {
  const { world, node, fields } = asked
  const { token, messages } = sessionFor(world, fields.token)
  const line = String(fields.event)
  const found = ruleFor(asked, line)
  const now = world.now()
  const [, program] = /^\w{3} +\d+ [\d:]{8} \S+ ([\w-]+)/.exec(line) ?? []
  const rule = found && {
    level: found.level,
    description: found.description,
    id: String(found.id),
    firedtimes: 1,
    mail: false,
    groups: found.groups,
  }
  const output = {
    timestamp: `${now.toISOString().slice(0, 23)}000Z`,
    ...(rule && { rule }),
    agent: { id: '000', name: node.name },
    manager: { name: node.name },
    id: `${Math.floor(now.getTime() / 1000)}.${16_000 + sessionsOf(world).count}`,
    cluster: { name: 'cluster', node: node.name },
    full_log: line,
    ...(program && { predecoder: { program_name: program } }),
    decoder: program === undefined ? {} : { name: program },
    location: fields.location,
  }
  const alert = Number(found?.level ?? 0) >= 3
  return { kind: 'data', data: { messages, token, output, alert, codemsg: messages.length > 0 ? 1 : 0 } }
}

function close({ world, params }: Asked): Answer {
  const token = params.token ?? ''
  if (!sessionsOf(world).open.delete(token)) {
    const messages = [`ERROR: (7004): No session found for token '${token}'`]
    return { kind: 'data', data: { messages, codemsg: -1 } }
  }
  return {
    kind: 'data',
    data: { messages: [`INFO: (7206): The session '${token}' was closed successfully`], codemsg: 0 },
  }
}

const runs = [{ action: 'logtest:run', type: '*:*', named: 'whole' }] as const

export const logtestCalls: readonly Call[] = [
  { method: 'PUT', path: '/logtest', runs: 'master', needs: runs, texts: NO_TEXTS, run: test },
  {
    method: 'DELETE',
    path: '/logtest/sessions/{token}',
    runs: 'master',
    needs: runs,
    texts: NO_TEXTS,
    run: close,
  },
  {
    method: 'POST',
    path: '/events',
    runs: 'here',
    needs: [{ action: 'event:ingest', type: '*:*', named: 'whole' }],
    texts: {
      all: 'All events were forwarded to analisysd',
      some: 'Some events were forwarded to analisysd',
      none: 'No events were forwarded to analisysd',
    },
    run: ({ fields }) => affected(fields.events as readonly unknown[]),
  },
]
