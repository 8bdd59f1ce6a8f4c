/** Translations of the security configuration assessment (SCA) and of CIS-CAT results. */
import { notExperimental } from './syscollector.ts'
import type { ParamRule, RowRule, Translation } from './translation.ts'

const select: ParamRule = { since: '4.5' }
/** The node has fields for the members of these lists only. */
const ofLists: ParamRule = { byEdgeIf: '\\bcompliance\\b|\\brules\\b' }

export const sca: Translation = {
  call: { path: '/sca/:agent_id', params: { select } },
  response: {
    kind: 'collection',
    rows: { source: 'sca', fields: { start_scan: { value: 'date' }, end_scan: { value: 'date' } } },
  },
}

export const scaChecks: Translation = {
  call: {
    path: '/sca/:agent_id/checks/:policy_id',
    params: { select: { ...select, ...ofLists }, sort: ofLists, q: ofLists },
    order: { byDefault: '+id', ties: ['id'] },
  },
  response: {
    kind: 'collection',
    rows: {
      source: 'scaChecks',
      fields: { result: { value: 'checkResult', also: { to: 'status', value: 'checkStatus' } } },
    },
  },
}

/** The time of a scan is the text that the agent sent, in both layouts. */
const ciscatRows: RowRule = {
  source: 'ciscat',
  fields: { 'scan.id': { param: 'scan_id' }, 'scan.time': { param: 'scan_time' } },
}

export const ciscat: Translation = {
  call: { path: '/ciscat/:agent_id/results' },
  response: {
    kind: 'collection',
    rows: { ...ciscatRows, fields: { ...ciscatRows.fields, agent_id: { dropped: true } } },
  },
}

export const ciscatOfAll: Translation = {
  call: {
    path: '/experimental/ciscat/results',
    params: { q: { byEdge: true } },
    order: { byDefault: '+scan.id', ties: ['benchmark', 'profile'] },
  },
  plan: 'allAgents',
  response: { kind: 'collection', rows: ciscatRows },
  errors: notExperimental,
}
