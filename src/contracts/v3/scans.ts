/**
 * Records of file integrity (syscheck), rootkit detection (rootcheck), the security configuration assessment (SCA) and CIS-CAT.
 * A scan request of syscheck or rootcheck starts both scans.
 */
import type { V3Endpoint } from '../endpoint.ts'
import { read, write } from '../record.ts'
import { agentFilter, failingQ, filter, filters, hiddenQ, hiddenSelect, list, q, select } from '../schemas/params.ts'
import { agentOwner, allAgents, cacheIn, collectionOf, everyNode, ofAgent, scanTimes } from '../schemas/shared.ts'

const ofOne = { target: agentOwner } as const
const ofAll = { target: everyNode } as const

/** Returns what all reads of this data of one agent have in common. */
function readingOf<Data extends 'syscheck' | 'rootcheck' | 'sca' | 'ciscat'>(data: Data) {
  return { ...ofOne, permission: `${data}:read`, cache: cacheIn(data, ...ofAgent(data)) } as const
}

type Scan = 'syscheck' | 'rootcheck'

/** Returns the records that clear the results of a scan, and that start one. `other`: the scan that it starts too. */
function writesOf(scan: Scan, other: Scan): readonly V3Endpoint[] {
  const pathOfAll = scan === 'syscheck' ? '/experimental/syscheck' : '/rootcheck'
  const clearing = { permission: `${scan}:clear` } as const
  const running = { permission: `${scan}:run` } as const
  return [
    write('DELETE', `/${scan}/:agent_id`, `Clear the ${scan} data of an agent`, {
      ...ofOne,
      ...clearing,
      invalidates: [`${scan}:{agent_id}`],
    }),
    write('DELETE', pathOfAll, `Clear the ${scan} data of all agents`, {
      ...ofAll,
      ...clearing,
      invalidates: [`${scan}:*`],
    }),
    write('PUT', `/${scan}`, 'Scan all agents', { ...ofAll, ...running, invalidates: [`${scan}:*`, `${other}:*`] }),
    write('PUT', `/${scan}/:agent_id`, 'Scan an agent', {
      ...ofOne,
      ...running,
      invalidates: [`${scan}:{agent_id}`, `${other}:{agent_id}`],
    }),
  ]
}

const readingSyscheck = readingOf('syscheck')

export const syscheck: readonly V3Endpoint[] = [
  read('/syscheck/:agent_id', 'Syscheck files of an agent', {
    ...readingSyscheck,
    query: {
      ...list,
      q: hiddenQ,
      file: filter('paths', 'file name'),
      type: { ...filter('names', 'type of file'), allowed: ['file', 'registry'] },
      summary: {
        ...filter('yes_no', 'summary grouping by file name'),
        default: 'no',
        allowed: ['yes', 'no'],
        note: 'yes: only date, mtime and file',
      },
      ...filters('hashes', 'md5', 'sha1', 'sha256'),
      hash: filter('hashes', 'any-of hash'),
      select,
    },
    response: collectionOf('SyscheckFile'),
    snapshot: 'syscheck',
  }),
  read('/syscheck/:agent_id/last_scan', 'Times of the last syscheck scan of an agent', {
    ...readingSyscheck,
    response: scanTimes,
  }),
  ...writesOf('syscheck', 'rootcheck'),
]

const readingRootcheck = readingOf('rootcheck')

export const rootcheck: readonly V3Endpoint[] = [
  read('/rootcheck/:agent_id', 'Rootcheck events of an agent', {
    ...readingRootcheck,
    query: {
      ...list,
      q: hiddenQ,
      pci: filter('alphanumeric', 'pci requirement'),
      cis: filter('alphanumeric', 'CIS'),
      status: {
        ...filter('names', 'status'),
        default: 'all',
        allowed: ['all', 'outstanding', 'solved'],
        note: 'other values give 1603',
      },
      select: hiddenSelect,
    },
    response: collectionOf('RootcheckEvent'),
    snapshot: 'rootcheck',
  }),
  ...(['cis', 'pci'] as const).map((name) =>
    read(`/rootcheck/:agent_id/${name}`, `${name.toUpperCase()} requirements in the rootcheck events of an agent`, {
      ...readingRootcheck,
      query: { ...list, q: failingQ },
      response: collectionOf('RootcheckRequirement'),
      snapshot: 'requirements',
    }),
  ),
  read('/rootcheck/:agent_id/last_scan', 'Times of the last rootcheck scan of an agent', {
    ...readingRootcheck,
    response: scanTimes,
  }),
  ...writesOf('rootcheck', 'syscheck'),
]

const readingSca = readingOf('sca')

export const sca: readonly V3Endpoint[] = [
  read('/sca/:agent_id', 'Policies of an agent', {
    ...readingSca,
    query: {
      ...list,
      q,
      name: filter('alphanumeric', 'policy name'),
      description: filter('alphanumeric', 'policy description'),
      references: filter('alphanumeric', 'references'),
      select: hiddenSelect,
    },
    response: collectionOf('ScaPolicy'),
    snapshot: 'sca',
  }),
  read('/sca/:agent_id/checks/:policy_id', 'Checks of one policy of an agent', {
    ...readingSca,
    params: { policy_id: filter('alphanumeric', 'policy') },
    query: {
      ...list,
      q: hiddenQ,
      title: filter('alphanumeric', 'title'),
      description: filter('alphanumeric', 'policy description'),
      ...filters('alphanumeric', 'rationale', 'remediation'),
      file: filter('paths', 'file'),
      process: filter('alphanumeric', 'process'),
      directory: filter('paths', 'directory'),
      ...filters('alphanumeric', 'registry', 'references', 'result'),
      select: hiddenSelect,
    },
    response: collectionOf('ScaCheck'),
    storedRows: 'scaChecks',
  }),
]

const resultFilters = {
  ...filters('alphanumeric', 'benchmark', 'profile', 'pass', 'fail'),
  ...filters('numbers', 'error', 'notchecked', 'unknown', 'score'),
}
const readingCiscat = readingOf('ciscat')

export const ciscat: readonly V3Endpoint[] = [
  read('/ciscat/:agent_id/results', 'CIS-CAT results of an agent', {
    ...readingCiscat,
    query: { ...list, q: hiddenQ, ...resultFilters, select },
    response: collectionOf('CiscatResult'),
    snapshot: 'ciscat',
  }),
  read('/experimental/ciscat/results', 'CIS-CAT results of all agents', {
    ...readingCiscat,
    query: { ...list, q: hiddenQ, agent_id: agentFilter, ...resultFilters, select },
    target: allAgents('/ciscat/:agent_id/results'),
    response: collectionOf('CiscatResult'),
    cache: cacheIn('ciscat', 'collection:ciscat'),
    snapshot: 'ciscat',
  }),
]
