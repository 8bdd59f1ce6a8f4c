/** Translations of the security configuration assessment (SCA) and of CIS-CAT results. */
import type { RowRule, Translation } from './translation.ts'

export const sca: Translation = {
  call: { path: '/sca/:agent_id', order: { byDefault: '-policy_id', ties: ['policy_id'] } },
  response: {
    kind: 'collection',
    rows: { source: 'sca', fields: { start_scan: { value: 'date' }, end_scan: { value: 'date' } } },
  },
}

export const scaChecks: Translation = {
  call: { path: '/sca/:agent_id/checks/:policy_id', order: { byDefault: '+id', ties: ['id'] } },
  response: {
    kind: 'collection',
    rows: {
      source: 'scaChecks',
      fields: { result: { value: 'checkResult', also: { to: 'status', value: 'checkStatus' } } },
    },
  },
}

/** The time of a scan is the text that the agent sent, in both layouts. */
export const ciscatRows: RowRule = {
  source: 'ciscat',
  fields: { 'scan.id': { param: 'scan_id' }, 'scan.time': { param: 'scan_time' } },
}
const order = { byDefault: '+scan.id', ties: ['benchmark', 'profile'] }

export const ciscat: Translation = {
  call: { path: '/ciscat/:agent_id/results', order },
  response: {
    kind: 'collection',
    rows: { ...ciscatRows, fields: { ...ciscatRows.fields, agent_id: { dropped: true } } },
  },
}
