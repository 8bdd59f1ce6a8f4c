/** The main log of a node: a line every four minutes since yesterday's midnight, and the lines of its start. */
import type { SimNode, World } from '../../model.ts'
import { type Random, randomFor } from '../random.ts'
import { after, midnight, stamp } from '../times.ts'
import { type Daemon, isUsed } from './daemons.ts'

export type Level = 'info' | 'error' | 'critical' | 'warning' | 'debug'

export interface LogEntry extends Readonly<Record<string, unknown>> {
  readonly timestamp: string
  readonly tag: string
  readonly level: Level
  /** Begins with a space, as in the manager. */
  readonly description: string
}

type Line = readonly [tag: string, level: Level, text: (random: Random) => string]

/** The node writes one line in each slot, at a random second of it. */
const SLOT_SECONDS = 240

const lines: readonly Line[] = [
  ['ossec-syscheckd', 'info', () => '(6008): File integrity monitoring scan started.'],
  ['ossec-syscheckd', 'info', () => '(6009): File integrity monitoring scan ended.'],
  ['ossec-rootcheck', 'info', () => 'Starting rootcheck scan.'],
  ['ossec-rootcheck', 'info', () => 'Ending rootcheck scan.'],
  ['wazuh-modulesd:syscollector', 'info', () => 'Starting evaluation.'],
  ['wazuh-modulesd:syscollector', 'info', () => 'Evaluation finished.'],
  ['sca', 'info', () => 'Starting Security Configuration Assessment scan.'],
  ['sca', 'info', (random) => `Evaluation finished in ${random.int(1, 9)} seconds.`],
  ['ossec-remoted', 'info', () => '(1409): Authentication file changed. Updating.'],
  ['ossec-remoted', 'warning', (random) => `(1408): Invalid ID ${random.int(200, 900)} for the source ip.`],
  ['ossec-remoted', 'error', () => '(1404): Authentication error. Wrong key or corrupt payload.'],
  ['ossec-analysisd', 'info', (random) => `Total rules enabled: '${random.int(690, 710)}'`],
  ['ossec-analysisd', 'warning', () => 'Input queue is 90% full.'],
  ['ossec-logcollector', 'info', () => "(1950): Analyzing file: '/var/log/auth.log'."],
  [
    'ossec-logcollector',
    'error',
    () => "(1103): Could not open file '/var/log/messages' due to [(2)-(No such file or directory)].",
  ],
  ['ossec-monitord', 'info', () => 'Agent disconnected event was generated.'],
  ['ossec-monitord', 'debug', () => 'Rotation of the internal log is not due.'],
  ['wazuh-db', 'info', (random) => `Agent database ${random.int(1, 99)} was vacuumed.`],
  ['wazuh-db', 'critical', () => '(1501): A database could not be opened, trying again.'],
  ['ossec-authd', 'info', (random) => `Received request for a new agent from 10.20.0.${random.int(2, 250)}`],
  ['ossec-integratord', 'error', () => 'Unable to run integration for virustotal.'],
  [
    'wazuh-modulesd',
    'warning',
    () => "'disabled' option at module 'vulnerability-detector' is deprecated. Use 'enabled' instead.",
  ],
]

const starting: readonly Daemon[] = [
  'ossec-monitord',
  'ossec-logcollector',
  'ossec-remoted',
  'ossec-syscheckd',
  'ossec-analysisd',
  'ossec-execd',
  'ossec-authd',
  'wazuh-db',
  'wazuh-modulesd',
]

/** Newest first. */
export function logEntries(world: World, node: SimNode): LogEntry[] {
  const now = world.now()
  const first = midnight(now, 1)
  const begun = Math.ceil((now.getTime() - first.getTime()) / 1000 / SLOT_SECONDS)
  const said = Array.from({ length: begun }, (_, slot) => regularEntry(world, node, first, slot))
  const since = stamp(node.startedAt)
  const starts = node.startedAt >= first && node.startedAt <= now ? startEntries(node, since) : []
  const known = said.filter((entry) => entry.timestamp <= stamp(now) && isKnown(entry, node))
  return [...known, ...starts].sort((a, b) => (a.timestamp < b.timestamp ? 1 : a.timestamp > b.timestamp ? -1 : 0))
}

/** Each line depends only on its absolute time, so that repeated reads return the same lines. */
function regularEntry(world: World, node: SimNode, first: Date, slot: number): LogEntry {
  const at = after(first, slot * SLOT_SECONDS)
  const random = randomFor(world.seed, 'log', node.name, at.getTime())
  const [tag, level, text] = random.pick(lines)
  return { timestamp: stamp(after(at, random.int(0, SLOT_SECONDS - 1))), tag, level, description: ` ${text(random)}` }
}

function startEntries(node: SimNode, timestamp: string): LogEntry[] {
  return starting
    .filter((daemon) => isUsed(daemon, node.type))
    .map((tag) => ({
      timestamp,
      tag,
      level: 'info',
      description: ` Started (pid: ${tag.length * 37 + node.restarts}).`,
    }))
}

/** Daemons that do not run on a node write no lines. */
function isKnown({ tag }: LogEntry, node: SimNode): boolean {
  return node.type === 'master' || !['ossec-authd', 'ossec-integratord'].includes(tag)
}

export type LevelCounts = Record<'all' | Level, number>

/** Counts levels by tag, in the order of first appearance. */
export function summarise(entries: readonly LogEntry[]): Record<string, LevelCounts> {
  const summary: Record<string, LevelCounts> = {}
  for (const { tag, level } of entries.toReversed()) {
    const counts = summary[tag] ?? { all: 0, info: 0, error: 0, critical: 0, warning: 0, debug: 0 }
    counts.all += 1
    counts[level] += 1
    summary[tag] = counts
  }
  return summary
}
