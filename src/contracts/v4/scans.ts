/** Records of scans of agents: rootcheck, syscheck, SCA, CIS-CAT, vulnerabilities. */
import type { CacheGroup, Param, V4Endpoint } from '../endpoint.ts'
import { cacheIn } from '../schemas/shared.ts'
import { amount, param, query, rows, symbols, word } from './parameters.ts'
import { master, read, write } from './shared.ts'
import { bool, integer, oneOf, text, wordOf } from './value.ts'

/** Returns what reads of the results of one agent share. */
function ofAgent<const Data extends string>(data: Data, group: CacheGroup) {
  return {
    permission: `${data}:read`,
    rights: [`${data}:read on agent:id:{agent_list}`],
    target: master('agentOwner'),
    cache: cacheIn(group, `${data}:{agent_id}`, `${data}:*`),
  } as const
}

const ofRootcheck = ofAgent('rootcheck', 'rootcheck')
const ofSyscheck = ofAgent('syscheck', 'syscheck')
const ofSca = ofAgent('sca', 'sca')
const { rights: _, ...ofVulnerability } = ofAgent('vulnerability', 'syscollector')

/** Returns the record that starts a scan of agents. A scan of either kind is one of both. */
function run(scan: 'rootcheck' | 'syscheck', name: string): V4Endpoint {
  return write<string>('PUT', `/${scan}`, `Run a ${scan} scan on agents`, {
    permission: `${scan}:run`,
    rights: ['rootcheck:run on agent:id:{agent_list}'],
    target: master('several'),
    withoutLost: { list: 'agents_list', message: `${name} scan was not restarted on some agents` },
    query: query('agents_list'),
    invalidates: ['rootcheck:*', 'syscheck:*'],
  })
}

function clear(scan: 'rootcheck' | 'syscheck'): V4Endpoint {
  return write<string>('DELETE', `/${scan}/:agent_id`, `Clear the ${scan} results of an agent`, {
    permission: `${scan}:clear`,
    rights: ['rootcheck:clear on agent:id:{agent_list}'],
    target: master('agentOwner'),
    invalidates: [`${scan}:{agent_id}`],
  })
}

export const ciscatFilters: Readonly<Record<string, Param>> = {
  benchmark: word('benchmark'),
  profile: word('profile'),
  pass: amount('number of passed checks'),
  fail: amount('number of failed checks'),
  error: amount('number of checks with an error'),
  notchecked: amount('number of checks that were not run'),
  unknown: param('number of checks with an unknown result', integer()),
  score: amount('score'),
}

export const scans: readonly V4Endpoint[] = [
  read('/ciscat/:agent_id/results', 'List the CIS-CAT results of an agent', {
    ...ofAgent('ciscat', 'ciscat'),
    query: query(...rows, 'select', ciscatFilters, 'q'),
    snapshot: 'ciscat',
  }),
  run('rootcheck', 'Rootcheck'),
  read('/rootcheck/:agent_id', 'List the rootcheck results of an agent', {
    ...ofRootcheck,
    query: query(...rows, 'select', 'q', 'distinct', {
      status: word('whether the problem exists'),
      pci_dss: word('requirement of PCI DSS'),
      cis: word('requirement of CIS'),
    }),
    snapshot: 'rootcheck',
  }),
  clear('rootcheck'),
  read('/rootcheck/:agent_id/last_scan', 'Get the times of the last rootcheck scan of an agent', ofRootcheck),
  read('/sca/:agent_id', 'List the SCA policies of an agent', {
    ...ofSca,
    query: query(
      ...rows,
      {
        name: param('text in the name', text()),
        description: symbols('text in the description'),
        references: param('text in the references', text()),
      },
      'select@4.5',
      'q',
      'distinct@4.5',
    ),
    snapshot: 'sca',
  }),
  read('/sca/:agent_id/checks/:policy_id', 'List the checks of an SCA policy of an agent', {
    ...ofSca,
    params: { policy_id: word('id of the policy') },
    query: query(
      ...rows,
      {
        title: symbols('text in the title'),
        description: symbols('text in the description'),
        rationale: symbols('text in the rationale'),
        remediation: symbols('text in the remediation'),
        command: param('command that the check runs', text('symbols_alphanumeric_param')),
        reason: symbols('why the check was not run'),
        file: param('path of the file', text('paths')),
        process: word('process that the check reads'),
        directory: param('directory that the check reads', text()),
        registry: word('registry key that the check reads'),
        references: param('text in the references', text()),
        result: word('result of the check'),
        condition: param('condition of the check', text()),
      },
      'select@4.5',
      'q',
      'distinct@4.5',
    ),
    snapshot: 'scaChecks',
  }),
  run('syscheck', 'Syscheck'),
  read('/syscheck/:agent_id', 'List the syscheck results of an agent', {
    ...ofSyscheck,
    query: query(
      ...rows,
      'select',
      {
        file: param('path of the file', text('paths')),
        arch: param('architecture of the registry key', oneOf('[x32]', '[x64]')),
        'value.name': word('name of the registry value'),
        'value.type': word('type of the registry value'),
        type: param('kind of the entry', oneOf('file', 'registry_key', 'registry_value')),
        summary: param('only path and time of each file', bool(false)),
        md5: param('MD5 checksum', text('hash')),
        sha1: param('SHA-1 checksum', text('hash')),
        sha256: param('SHA-256 checksum', text('hash')),
        hash: param('checksum of any of the three kinds', text('hash')),
      },
      'distinct',
      'q',
    ),
    snapshot: 'syscheck',
  }),
  clear('syscheck'),
  read('/syscheck/:agent_id/last_scan', 'Get the times of the last syscheck scan of an agent', ofSyscheck),
  read('/vulnerability/:agent_id', 'List the vulnerabilities of an agent', {
    ...ofVulnerability,
    releases: { until: '4.7' },
    query: query(...rows, 'select', 'q', 'distinct', {
      architecture: word('architecture'),
      cve: word('id of the vulnerability'),
      name: word('name of the package'),
      version: symbols('version of the package'),
      type: param('what the vulnerability is in', oneOf('os', 'package')),
      status: param('status of the vulnerability', oneOf('valid', 'pending', 'obsolete')),
      severity: param('severity', text('names')),
    }),
    snapshot: 'pages',
  }),
  read('/vulnerability/:agent_id/last_scan', 'Get the times of the last vulnerability scans of an agent', {
    ...ofVulnerability,
    releases: { until: '4.7' },
  }),
  read('/vulnerability/:agent_id/summary/:field', 'Count the vulnerabilities of an agent by a field', {
    ...ofVulnerability,
    releases: { until: '4.7' },
    params: {
      field: param(
        'field by which vulnerabilities are counted',
        wordOf(`
          cve name version architecture detection_time severity cvss2_score cvss3_score external_references type status
          condition title published updated`),
      ),
    },
    query: query('limit'),
  }),
  write('PUT', '/vulnerability', 'Run a vulnerability scan', {
    releases: { since: '4.5', until: '4.7' },
    permission: 'vulnerability:run',
    invalidates: ['vulnerability:*'],
  }),
]
