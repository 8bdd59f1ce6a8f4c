/** Parameters that several operations of the newer contract take. */
import type { Param } from '../endpoint.ts'
import { bool, integer, list, oneOf, param, required, since, text, wordOf } from './values.ts'

export const agentDaemons = param('names of daemons', list(oneOf('wazuh-analysisd', 'wazuh-remoted')))
/** `0001` is agent 001 too. */
export const agentId: Param = { ...param('id of the agent', text('numbers', { minLength: 3 })), canonical: 'agentId' }
export const agentStatus = param(
  'status of the agents',
  list(oneOf('active', 'pending', 'never_connected', 'disconnected'), { minItems: 1 }),
)
export const agentsList: Param = {
  ...param('ids of agents', list(text('numbers', { minLength: 3, description: 'Agent ID', reference: 'agents_list' }))),
  canonical: 'agentIds',
}
export const agentsOrAll: Param = {
  ...required('ids of agents, or all', list(text('numbers_or_all', { minLength: 3 }))),
  canonical: 'agentIds',
}
export const component = param(
  'component',
  wordOf(`
    agent agentless analysis auth com csyslog integrator logcollector mail monitor request syscheck wazuh-db
    wmodules`),
)
export const configuration = param(
  'configuration of the component',
  wordOf(`
    client buffer labels internal anti_tampering agentless global active_response alerts command rules decoders
    auth logging reports active-response cluster csyslog integration localfile socket remote syscheck rootcheck
    wdb wmodules rule_test`),
)
export const daemons = param('names of daemons', list(oneOf('wazuh-analysisd', 'wazuh-remoted', 'wazuh-db')))
export const day = param('day', text('date'))
export const distinct = param('only different rows', bool(false))
export const distinctSince45 = param('only different rows', since('4.5', bool(false)))
export const distinctSince47 = param('only different rows', since('4.7', bool(false)))
export const field = param('field of the section', text('names'))
export const fieldWords = param(
  'field by which vulnerabilities are counted',
  wordOf(`
    cve name version architecture detection_time severity cvss2_score cvss3_score external_references type status
    condition title published updated`),
)
export const fileStatus = param('status of the files', { ...oneOf('enabled', 'disabled', 'all'), minItems: 1 })
export const files = param('names of files', list(text('alphanumeric')))
export const folder = param('folder of the files', text('get_dirnames_path'))
export const folderSince47 = param('folder of the file', since('4.7', text('get_dirnames_path')))
export const groupFileType = param('type of the file', list(oneOf('conf', 'rootkit_files', 'rootkit_trojans', 'rcl')))
export const groupId = param('name of the group', text('group_names'))
export const groupsList = param(
  'names of groups',
  list(text('group_names', { description: 'Group name', reference: 'groups_list' })),
)
export const hashFunction = param(
  'hash function of the checksums',
  wordOf('md5 sha1 sha224 sha256 sha384 sha512 blake2b blake2s sha3_224 sha3_256 sha3_384 sha3_512'),
)
export const limit = param('maximum number of rows', integer({ minimum: 1, maximum: 100_000, default: 500 }))
export const listFile = param('name of the file', text('cdb_filename_path'))
export const logLevel = param('level of the entries', oneOf('critical', 'debug', 'debug2', 'error', 'info', 'warning'))
export const logTag = param('daemon that wrote the entries', text('alphanumeric'))
export const nodeId = param('name of the node', text('names'))
export const nodesList = param('names of nodes', list(text()))
export const offset = param('first row', integer({ minimum: 0, default: 0 }))
export const overwrite = param('replace a file of the same name', bool(false))
export const policyId = param(
  'id of the policy',
  text('numbers', { description: 'Policy ID', reference: 'policy_id_rbac' }),
)
export const q = param('query filter', text())
export const qSince47 = param('query filter', since('4.7', text()))
export const raw = param('the response is the text itself, without JSON', bool())
export const resourceWords = param(
  'resource',
  wordOf('*:* agent:group agent:id group:id node:id decoder:file list:file rule:file policy:id role:id user:id'),
)
export const roleId = param('id of the role', text('numbers'))
export const ruleId = param('id of the security rule', text('numbers'))
export const search = param('text that a row contains; a leading - excludes it', text('search'))
export const section = param('section of the file', {
  ...wordOf(`
      active-response agentless alerts auth client client_buffer cluster command database_output email_alerts global
      integration labels localfile logging remote reports rootcheck ruleset sca socket syscheck syslog_output
      vulnerability-detection indexer aws-s3 azure-logs cis-cat docker-listener open-scap osquery syscollector
      vulnerability-detector`),
  wordReleases: {
    'vulnerability-detection': { since: '4.8' },
    indexer: { since: '4.8' },
    'vulnerability-detector': { until: '4.7' },
  },
})
export const select = param('fields of each row', list(text('names')))
export const selectSince45 = param('fields of each row', since('4.5', list(text('names'))))
export const selectSince47 = param('fields of each row', since('4.7', list(text('names'))))
export const selectSince49 = param('fields of each row', since('4.9', list(text('names'))))
export const shortLimit = param('maximum number of rows', integer({ minimum: 1, maximum: 500, default: 500 }))
export const sort = param('fields to sort by; a leading - sorts in descending order', text('sort'))
export const userId = param('id of the user', text('numbers'))
export const xmlFile = param('name of the file', text('xml_filename_path'))
export const xmlFiles = param('names of files', list(text('xml_filename')))

/** Of each collection. */
export const rows = { offset, limit, sort, search }

/** Which agents a list has. */
export const agentFilters = {
  'os.platform': param('platform of the operating system', text('alphanumeric')),
  'os.version': param('version of the operating system', text('alphanumeric')),
  'os.name': param('name of the operating system', text('alphanumeric')),
  manager: param('name of the manager that the agent reports to', text('alphanumeric')),
  version: param('release of the agent', text('alphanumeric')),
  group: param(
    'name of a group of the agent',
    text('group_names', { description: 'Group name', reference: 'agent_group' }),
  ),
  node_name: param('name of the node that the agent reports to', text('names')),
  name: param('name of the agent', text('alphanumeric')),
  ip: param('address of the agent', text('alphanumeric')),
  registerIP: param('address with which the agent was registered', text('alphanumeric')),
}
