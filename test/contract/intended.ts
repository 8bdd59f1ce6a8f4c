/** Intended differences between the catalogue and the contract. Each row must differ, and nothing else may. */
import type { Difference } from './facts.ts'

export interface Intended {
  readonly where: RegExp
  readonly theirs: string | RegExp | undefined
  readonly ours: string | RegExp | undefined
  /** How many places it covers. */
  readonly times: number
  readonly reason: string
}

export const intended: readonly Intended[] = [
  {
    where: /^GET \/cluster\/:node_id\/(?:configuration|stats|stats\/analysisd|stats\/remoted) :node_id$/,
    theirs: 'none',
    ours: 'names',
    times: 4,
    reason: 'a node is checked by its name everywhere; four endpoints of the real API do not check it',
  },
  {
    where: /^PUT \/active-response\/:agent_id body\.command$/,
    theirs: 'string mandatory 604',
    ours: 'string',
    times: 1,
    reason: 'the framework reports the missing field with 1650, which is more exact than 604',
  },
  {
    where: /^GET \/agents\/groups(?:\/:group_id\/files)? \?hash$/,
    theirs: /sha3_512,\(any other name .*\)$/,
    ours: /sha3_512$/,
    times: 2,
    reason: 'the names are listed; that there are others is a sentence, not a value',
  },
  {
    where: /^GET \/agents\/groups\/:group_id\/files\/:filename secret$/,
    theirs: 'none',
    ours: 'possible',
    times: 1,
    reason: 'the contents of a group file may hold what its configuration may hold',
  },
  {
    where: /^GET \/agents\/stats\/distinct secret$/,
    theirs: 'none',
    ours: 'possible',
    times: 1,
    reason: 'without fields the response contains the key of every agent (recorded)',
  },
  {
    where: /^GET \/(?:manager|cluster\/:node_id)\/stats \?date$/,
    theirs: /^dates default today/,
    ours: 'dates',
    times: 2,
    reason: 'today is not a constant: a stored default would become wrong the next day',
  },
  {
    where: /^validator (?:empty_boolean|format)$/,
    theirs: /"Undefined error\." \(text in place of a code, 3\.11\)$/,
    ours: / → 623$/,
    times: 2,
    reason: 'an error is a Number (seed, convention 1); later releases return 623',
  },
  {
    where: /^validator flag$/,
    theirs: 'presence of the name; value ignored → null',
    ours: 'presence → 623',
    times: 1,
    reason: 'only the length of the value is checked, and a value that is too long needs a code',
  },
  {
    where: /^validator (?:ips|query)$/,
    theirs: /^(?:any, ANY, or a dotted IPv4|\^\\\(\*FIELD OP VALUE).* → (?:606|622)$/,
    ours: /^(?:\^.*\$|query) → (?:606|622)$/,
    times: 2,
    reason: 'the contract states this in prose; tests of the kinds themselves compare values',
  },
  {
    where: /^validator command$/,
    theirs: undefined,
    ours: 'any text → 608',
    times: 1,
    reason: 'commands of active response are not checked by the real API of this release',
  },
  {
    where: /^(?:GET \/cache|DELETE \/cache|DELETE \/cache\/:group) \?/,
    theirs: undefined,
    ours: / beyond the seed$/,
    times: 15,
    reason: 'operators need more of the cache than the real API shows; without these options nothing differs',
  },
  {
    where: /^GET \/experimental\/(?:ciscat\/results|syscollector\/(?:hardware|os|packages)) \?agent_id$/,
    theirs: undefined,
    ours: 'array_numbers',
    times: 4,
    reason: 'the seed has the agent id filter, which the real API rejects: the edge applies the filter',
  },
  {
    where: /^GET \/experimental\/syscollector\/(?:netaddr|netiface|netproto|ports|processes) \?agent_id$/,
    theirs: undefined,
    ours: 'array_numbers beyond the seed',
    times: 5,
    reason: 'the filter of three kinds of inventory is accepted for all kinds',
  },
  {
    where: /^validator node_names$/,
    theirs: undefined,
    ours: / → 601$/,
    times: 1,
    reason: 'only the edge accepts several nodes at once; a bad list gets the error of a bad name',
  },
  {
    where: /^validator url$/,
    theirs: undefined,
    ours: / → 608$/,
    times: 1,
    reason: 'only the edge accepts URLs, to explain what its cache does with them',
  },
  {
    where: /^validator tag$/,
    theirs: undefined,
    ours: / → 609$/,
    times: 1,
    reason: 'only the edge has tags; one may contain any value of a parameter, also in other languages',
  },
]

export function means({ where, theirs, ours }: Intended, found: Difference): boolean {
  return where.test(found.where) && is(theirs, found.theirs) && is(ours, found.ours)
}

function is(expected: string | RegExp | undefined, actual: string | undefined): boolean {
  return expected instanceof RegExp ? actual !== undefined && expected.test(actual) : expected === actual
}
