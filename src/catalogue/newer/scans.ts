/** Translations of file integrity (syscheck) and rootkit detection (rootcheck). */
import { notExperimental } from './syscollector.ts'
import type { ErrorRule, FieldRule, ResponseRule, RowRule, Translation } from './translation.ts'

const scanTimes: ResponseRule = {
  kind: 'one',
  rows: { fields: { start: { value: 'scanTime' }, end: { value: 'scanTime' } } },
}
const started: ResponseRule = {
  kind: 'text',
  text: 'Restarting Syscheck/Rootcheck on agent',
  variants: [{ agent: '000', text: 'Restarting Syscheck/Rootcheck locally' }],
}
const startedOnAll: ResponseRule = { kind: 'text', text: 'Restarting Syscheck/Rootcheck on all agents' }
/** The call names the agents that are not active, or that no longer exist. The scans of the others start. */
const notAllActive: Readonly<Record<number, ErrorRule>> = { 1701: 'success', 1707: 'success' }

const syscheckRows: RowRule = {
  source: 'syscheck',
  fields: {
    date: { value: 'date' },
    mtime: { value: 'date' },
    perm: { value: 'permissions' },
    type: { value: 'syscheckType' },
    changes: { dropped: true },
    attributes: { dropped: true },
    arch: { dropped: true },
    value: { dropped: true },
  },
}

export const syscheck: Translation = {
  call: {
    path: '/syscheck/:agent_id',
    params: { type: { words: { registry: 'registry_key' } }, summary: { format: 'boolean' } },
    order: { byDefault: '+mtime', ties: ['file'] },
  },
  plan: 'rowsOfAgent',
  response: { kind: 'collection', rows: syscheckRows },
}

export const lastSyscheckScan: Translation = {
  call: { path: '/syscheck/:agent_id/last_scan' },
  response: scanTimes,
}

/** Agents since 3.12 keep their own data, so there is nothing to clear (1760). */
const nothingToClear: Readonly<Record<number, ErrorRule>> = { 1760: 'success' }
const syscheckCleared: ResponseRule = { kind: 'text', text: 'Syscheck database deleted' }

export const clearSyscheck: Translation = {
  call: { path: '/syscheck/:agent_id' },
  response: syscheckCleared,
  errors: nothingToClear,
}

/** The word for all agents is mandatory: the node refuses a call without agents. */
const ALL_AGENTS = { agents_list: 'all' }

export const clearSyscheckOfAll: Translation = {
  call: { path: '/experimental/syscheck', fixed: ALL_AGENTS },
  response: syscheckCleared,
  errors: { ...nothingToClear, ...notExperimental, 1701: 'success' },
}

export const runSyscheckOnAll: Translation = {
  call: { path: '/syscheck' },
  response: startedOnAll,
  errors: notAllActive,
}

/** The node starts the scans of all agents if the list is missing. */
const ONE_AGENT = { agents_list: ':agent_id' }

export const runSyscheck: Translation = {
  call: { path: '/syscheck', fixed: ONE_AGENT },
  response: started,
  errors: { 1707: 1604 },
}

const rootcheckFields: Readonly<Record<string, FieldRule>> = {
  log: { to: 'event' },
  date_first: { to: 'oldDay', value: 'date' },
  date_last: { to: 'readDay', value: 'date' },
  pci_dss: { to: 'pci' },
}

export const rootcheck: Translation = {
  call: {
    path: '/rootcheck/:agent_id',
    params: { pci: { as: 'pci_dss' } },
    order: { byDefault: '-date_last', ties: ['log'] },
  },
  response: { kind: 'collection', rows: { source: 'rootcheck', fields: rootcheckFields } },
}

/** The node returns rows with one field, of which the classic layout has the values. */
function requirements(field: 'cis' | 'pci_dss', value: string): Translation {
  return {
    call: { path: '/rootcheck/:agent_id', fixed: { select: field, distinct: 'true' } },
    response: { kind: 'collection', rows: { fields: { [field]: { to: value } } }, value },
  }
}

export const rootcheckCis = requirements('cis', 'cis')
export const rootcheckPci = requirements('pci_dss', 'pci')

export const lastRootcheckScan: Translation = {
  call: { path: '/rootcheck/:agent_id/last_scan' },
  response: scanTimes,
}

const rootcheckCleared: ResponseRule = { kind: 'text', text: 'Rootcheck database deleted' }

export const clearRootcheck: Translation = {
  call: { path: '/rootcheck/:agent_id' },
  response: rootcheckCleared,
}

export const clearRootcheckOfAll: Translation = {
  call: { path: '/experimental/rootcheck', fixed: ALL_AGENTS },
  response: rootcheckCleared,
  errors: { 1701: 'success' },
}

export const runRootcheckOnAll: Translation = {
  call: { path: '/rootcheck' },
  response: startedOnAll,
  errors: notAllActive,
}

export const runRootcheck: Translation = {
  call: { path: '/rootcheck', fixed: ONE_AGENT },
  response: started,
  errors: { 1707: 1605 },
}
