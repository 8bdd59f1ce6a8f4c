/** Reads of one node: `/manager/…` at the asked node, and `/cluster/{node_id}/…` at the named one. */

import { daemonStates } from '../../data/node/daemons.ts'
import { logEntries, summarise } from '../../data/node/log.ts'
import { analysisCounters, hourly, hoursOf, remoteCounters, weekly } from '../../data/node/statistics.ts'
import { type Answer, affected, Float, type Texts } from '../answers.ts'
import { collectRows, type Item, type Table } from '../collection.ts'
import { V4Error } from '../errors.ts'
import type { Asked, Call } from '../model.ts'
import { hasRelease5 } from '../releases.ts'
import { zuluOf } from '../rows.ts'

/** A call that exists twice. */
interface TwinCall {
  readonly path: string
  readonly texts: Texts
  readonly duringRestart?: true
  readonly run: (asked: Asked) => Answer
}

const nodeRead = { action: 'cluster:read', type: 'node:id', named: 'node' } as const

/** Returns the call at the asked node and its twin at the named one. */
export function bothOf({ path, ...rest }: TwinCall): Call[] {
  const call = { method: 'GET', needs: [nodeRead], ...rest } as const
  return [
    { ...call, path: `/manager${path}`, runs: 'here' },
    { ...call, path: `/cluster/{node_id}${path}`, runs: 'node' },
  ]
}

/** `ossec-remoted` → `wazuh-remoted`, and `wazuh-manager-remoted` in release 5.0. */
function v4Name(name: string, isLater = false): string {
  return name.replace(/^(?:ossec|wazuh)-/, isLater ? 'wazuh-manager-' : 'wazuh-')
}

/** Runs a handler of the node; an error of it is a failed item with the node's name. */
export function ofNode(run: (asked: Asked) => Answer): (asked: Asked) => Answer {
  return (asked) => {
    try {
      return run(asked)
    } catch (error) {
      if (!(error instanceof V4Error)) throw error
      return affected([], { failed: [{ id: asked.node.name, error }] })
    }
  }
}

function information({ world }: Asked) {
  return affected([
    {
      path: '/var/ossec',
      version: `v${world.version}`,
      compilation_date: `${world.now().toISOString().slice(0, 23)}000+00:00`,
      type: 'server',
      max_agents: 'unlimited',
      openssl_support: 'yes',
      tz_offset: '+0000',
      tz_name: 'UTC',
    },
  ])
}

function status({ world, node }: Asked) {
  const states = Object.entries(daemonStates(world, node)).map(([name, state]) => [v4Name(name), state])
  const named = Object.fromEntries(states) as Readonly<Record<string, string>>
  // Registration runs on workers too.
  return affected([{ ...named, 'wazuh-authd': named['wazuh-analysisd'], 'wazuh-apid': 'running' }])
}

const logTable: Table = { kind: 'list', fields: ['timestamp', 'tag', 'level', 'description'], order: '-timestamp' }

/** The tags that release 5.0 has. */
const TAG_OF_5 = /-(?:analysisd|authd|clusterd|db|modulesd|monitord|remoted)\b/

function entriesOf(asked: Asked) {
  const entries = logEntries(asked.world, asked.node)
  return hasRelease5(asked) ? entries.filter(({ tag }) => TAG_OF_5.test(tag)) : entries
}

function logRows(asked: Asked): Item[] {
  const isLater = hasRelease5(asked)
  return entriesOf(asked).map(({ timestamp, tag, level, description }) => {
    return { timestamp: zuluOf(timestamp), tag: v4Name(tag, isLater), level, description }
  })
}

function logs(asked: Asked) {
  const { level, tag } = asked.query
  const rows = logRows(asked).filter((row) => (level ?? row.level) === row.level && (tag ?? row.tag) === row.tag)
  const { items, total } = collectRows(rows, logTable, asked.query, asked.world.now())
  return affected(items, { total })
}

function logSummary(asked: Asked) {
  const counts = Object.entries(summarise(entriesOf(asked)))
  const items = counts.map(([tag, levels]) => ({ [v4Name(tag, hasRelease5(asked))]: levels }))
  return affected(items.toSorted((a, b) => ((Object.keys(a)[0] ?? '') < (Object.keys(b)[0] ?? '') ? -1 : 1)))
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

function ofDay({ world, node, query }: Asked) {
  const day = query.date === undefined ? world.now() : new Date(`${query.date}T00:00:00Z`)
  const hours = Number.isNaN(day.getTime()) ? undefined : hoursOf(world, node, day)
  if (hours !== undefined) return affected(hours)
  const [year = '', month = '1', date = ''] = (query.date ?? '').split('-')
  const file = `/var/ossec/stats/totals/${year}/${MONTHS[Number(month) - 1] ?? ''}/ossec-totals-${date}.log`
  throw new V4Error(1308, file)
}

/** Counters of the v3 layout that the v4 one has no longer. */
const goneCounters = /_edps$|^hostinfo_events_decoded$|^msg_sent$/

function floats(counters: Readonly<Record<string, number>>, more: Readonly<Record<string, number>>) {
  const rest = Object.entries({ ...counters, ...more }).filter(([name]) => !goneCounters.test(name))
  return affected([Object.fromEntries(rest.map(([name, value]) => [name, new Float(value)]))])
}

function analysis({ world, node }: Asked) {
  const more = { dbsync_messages_dispatched: 0, dbsync_queue_usage: 0, dbsync_queue_size: 16384 }
  const upgrade = { upgrade_queue_usage: 0, upgrade_queue_size: 16384 }
  return floats(analysisCounters(world, node), { ...more, ...upgrade })
}

function remote({ world, node }: Asked) {
  const counters = remoteCounters(world, node)
  return floats(counters, { sent_bytes: (counters.msg_sent ?? 0) * 231 })
}

const statTexts = (which: string): Texts => ({
  all: `Statistical information ${which}for each node was successfully read`,
  some: `Could not read statistical information ${which}for some nodes`,
  none: `Could not read statistical information ${which}for any node`,
})
const logTexts: Texts = {
  all: 'Logs were successfully read in specified node',
  some: 'Could not read logs in some nodes',
  none: 'Could not read logs in specified node',
}

export const managerCalls: readonly Call[] = [
  ...bothOf({
    path: '/info',
    texts: {
      all: 'Basic information was successfully read in specified node',
      some: 'Could not read basic information in some nodes',
      none: 'Could not read basic information in specified node',
    },
    run: information,
  }),
  ...bothOf({
    path: '/status',
    duringRestart: true,
    texts: {
      all: 'Processes status was successfully read in specified node',
      some: 'Could not read basic information in some nodes',
      none: 'Could not read processes status in specified node',
    },
    run: status,
  }),
  ...bothOf({
    path: '/logs',
    texts: logTexts,
    run: logs,
  }),
  ...bothOf({
    path: '/logs/summary',
    texts: { ...logTexts, all: 'Log was successfully summarized in specified node' },
    run: logSummary,
  }),
  ...bothOf({ path: '/stats', texts: statTexts(''), run: ofDay }),
  ...bothOf({
    path: '/stats/hourly',
    texts: statTexts('per hour '),
    run: ({ world, node }) => affected([hourly(world, node)]),
  }),
  ...bothOf({
    path: '/stats/weekly',
    texts: statTexts('per week '),
    run: ({ world, node }) => affected(Object.entries(weekly(world, node)).map(([day, item]) => ({ [day]: item }))),
  }),
  ...bothOf({ path: '/stats/analysisd', texts: statTexts(''), run: analysis }),
  ...bothOf({ path: '/stats/remoted', texts: statTexts(''), run: remote }),
]
