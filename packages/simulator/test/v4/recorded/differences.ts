/** Where the simulated cluster differs from the recorded one on purpose. */
import type { Test } from 'tap'
import type { Difference, Replayed } from './replay.ts'

export interface Reason {
  readonly why: string
  readonly operations: RegExp
  /** Absent: all requests of the operations. */
  readonly requests?: RegExp
  /** What differs: the texts of the comparison. Absent: anything. */
  readonly texts?: RegExp
}

export const reasons: readonly Reason[] = [
  {
    why: 'these filters of several agents have no effect there; the edge relies on them',
    operations: /^GET \/experimental\/syscollector\/(?:netiface|os)$/,
    requests: /\?(?:name|os\.name|os\.version)=/,
  },
  {
    why: 'the order of the index that the simulated database chooses for a statement',
    operations: /^GET \/(?:experimental\/)?syscollector\/(?:\{agent_id\}\/)?(?:packages|ports|processes)$/,
    requests: /[?&](?:select|search|sort)=/,
    texts: /^content/,
  },
  {
    why: 'the recording has pages of the packages of other agents only',
    operations: /^GET \/experimental\/syscollector\/packages$/,
    texts: /^(?:content|outcome: \{"error":0,)/,
  },
  {
    why: 'made-up files, checks and findings of the recorded agent',
    operations: /^GET \/(?:syscheck|sca|rootcheck)\//,
    texts: /^(?:missing|extra|outcome: \{"error":0,)/,
  },
  {
    why: 'options of the recorded configuration files, and what they make the daemons log',
    operations: /^GET \/(?:manager|cluster\/\{node_id\})\/(?:configuration|logs|logs\/summary)$/,
  },
  {
    why: 'a recorded node had an invalid configuration',
    operations: /^GET \/cluster\/configuration\/validation$/,
  },
  {
    why: 'the recorded nodes had statistics of no day but that of the recording',
    operations: /^GET \/(?:manager|cluster\/\{node_id\})\/stats$/,
  },
  {
    why: 'the simulated ruleset and lists are smaller',
    operations: /^GET \/(?:rules|decoders|lists)/,
    texts: /^(?:missing|extra|outcome: \{"error":0,)/,
  },
  {
    why: 'recorded agents that were inserted in the database have columns that agents which connect do not have',
    operations: /^GET \/(?:agents|groups\/\{group_id\}\/agents|agents\/no_group|overview\/agents)/,
    texts: /^(?:missing|extra)/,
  },
  {
    why: 'the recorded cluster had copied no custom files',
    operations: /^GET \/cluster\/healthcheck$/,
    texts: /extra_valid/,
  },
  { why: 'the text lists the operations in another order', operations: /^GET \/security\/actions$/, texts: /4020/ },
  {
    why: 'a parenthesis that is not closed reaches the database there',
    operations: /^GET \/(?:groups\/\{group_id\}\/agents|agents\/no_group|agents\/outdated|agents\/stats\/distinct)$/,
    texts: /near \\"\)\\": syntax error|q/,
  },
  {
    why: 'the nodes of the agents check the query, and not the master',
    operations: /^GET \/agents\/upgrade_result$/,
    texts: /expected format/,
  },
  {
    why: 'fields of the error in another order',
    operations: /^GET \/sca\/\{agent_id\}\/checks\/\{policy_id\}$/,
    texts: /Field does not exist/,
  },
  {
    why: 'the text of an exception as the log of the node has it',
    operations: /^GET \/rootcheck\/\{agent_id\}$/,
    texts: /Invalid status/,
  },
  {
    why: 'the refusal of the other node could not be parsed there: a defect of that release',
    operations: /^DELETE \/(?:rootcheck|syscheck)\/\{agent_id\}$/,
    texts: /status: 500 != 403|couldn't be loaded/,
  },
  {
    why: 'other agents were registered and connected in the recorded cluster at that time',
    operations: /^PUT \/(?:active-response|rootcheck|syscheck|agents\/group)$/,
    texts: /^outcome: \{"error":2,/,
  },
]

/** Returns the reasons that explain each text of a difference; undefined: it is not explained. */
export function explain({ operation, request, texts }: Difference, all = reasons): Reason[] | undefined {
  const known = all.filter((one) => one.operations.test(operation) && (one.requests?.test(request) ?? true))
  const found = texts.map((text) => known.find((one) => one.texts?.test(text) ?? true))
  return found.every((one) => one !== undefined) ? found : undefined
}

/** Asserts that each difference has a reason, that each reason occurs, and that exchanges agree. `least`: their number; fewer are a loss of fidelity. */
export function assertExplained(
  t: Test,
  { exchanges, differences, thrown }: Replayed,
  all: readonly Reason[],
  least: number,
): void {
  t.same(thrown, [], 'no defect of the simulator')
  t.same(
    differences.filter((difference) => explain(difference, all) === undefined),
    [],
    'each difference has a reason',
  )
  const used = new Set(differences.flatMap((difference) => explain(difference, all) ?? []))
  t.same(
    all.filter((reason) => !used.has(reason)),
    [],
    'each reason is needed',
  )
  t.ok(exchanges - differences.length >= least, `${exchanges - differences.length} of ${exchanges} agree`)
}
