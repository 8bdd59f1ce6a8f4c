/** The recording of release 5.0, and where the simulated cluster differs from the recorded one on purpose. */
import { readFileSync } from 'node:fs'
import type { ContractExchange } from '../../../../../test/contract/v4-contract/exchanges.ts'
import type { Reason } from './differences.ts'
import type { Recording } from './replay.ts'

const file = new URL('../../../../../test/contract/exchanges/release-5.jsonl', import.meta.url)
const exchanges = readFileSync(file, 'utf8')
  .trim()
  .split('\n')
  .map((line, index) => ({ ...(JSON.parse(line) as ContractExchange), line: index + 1 }))

/** Nodes were recorded with a low limit of requests or of logins. */
const LIMITED = /max_request_per_minute|max_login_attempts|^address blocked/

const DAY_MS = 86_400_000

export const release5: Recording = {
  exchanges: exchanges
    .filter(({ note }) => !LIMITED.test(note ?? ''))
    .map((exchange) => ({ ...exchange, operation: operationOf(exchange) })),
  parts: [{ until: Number.POSITIVE_INFINITY, users: [{ id: 100, username: 'reader1', roles: [4] }] }],
  cluster: { version: '5.0.0', workers: 1, silence: 9 * DAY_MS },
  prepare: async ({ note }, { faults }) => {
    if (note === 'worker1 stopped') await faults.set('worker1', { nodeDown: true })
    if (note === "the master's cluster daemon stopped") await faults.set('master-node', { clusterDown: true })
  },
}

/** The recording names no operations. */
function operationOf({ request: { method, path } }: ContractExchange): string {
  return `${method} ${path.split('?')[0]}`
}

export const reasonsOf5: readonly Reason[] = [
  {
    why: 'another parser of JSON, which does not name the place of a fault',
    operations: /^(?:POST|PUT) /,
    texts: /Expecting property name/,
  },
  { why: 'another parser of XML', operations: /^PUT \/groups\/web\/configuration$/, texts: /not well-formed/ },
  {
    why: 'a parenthesis that is not closed reaches the database there',
    operations: /^GET \/(?:agents\/(?:no_group|outdated)|groups\/web\/agents)$/,
    requests: /q=%28%28/,
    texts: /near/,
  },
  { why: 'the text lists the operations in another order', operations: /^GET \/security\/actions$/, texts: /4020/ },
  {
    why: 'the recorded nodes had stand-ins for some daemons: no counters, no log, no files of agents',
    operations: /^GET \/(?:cluster\/worker1\/(?:daemons\/stats|logs|logs\/summary)|groups\/web\/files)$/,
  },
  {
    why: 'the recorded control daemon of the master was not there any more',
    operations: /^PUT \/cluster\/reload$/,
    texts: /1901/,
  },
  {
    why: 'the simulated node shows each option of agents, and the recorded one had no such section',
    operations: /^GET \/groups\/web\/configuration$/,
    texts: /^extra: \.config/,
  },
  {
    why: 'agents that are in the group are left out there, and fail in releases 4 and here',
    operations: /^PUT \/agents\/group$/,
    texts: /1751/,
  },
  {
    why: 'the process that refuses for want of a permission looks for the group there',
    operations: /^PUT \/agents\/group\/nope\/reload$/,
    texts: /unknown-node/,
  },
  {
    why: 'a user who may restart no node and names none gets an empty list here',
    operations: /^PUT \/cluster\/reload$/,
    texts: /403|Permission denied|problem\+json/,
  },
  {
    why: 'the recording lacks what was done to the role of its user, and a user that was created',
    operations: /^(?:DELETE \/security\/|GET \/security\/users$)/,
    texts: /^(?:content|extra)/,
  },
]
