/** Parameters that several operations of the newer contract take. */
import { bool, integer, list, oneOf, param, required, since, text } from './values.ts'

export const agentDaemons = param('daemons', list(oneOf('wazuh-analysisd', 'wazuh-remoted')))
export const agentId = param('agent', text('numbers', { minLength: 3 }))
export const agentStatus = param(
  'status',
  list(oneOf('active', 'pending', 'never_connected', 'disconnected'), { minItems: 1 }),
)
export const agentsList = param('agents', list(text('numbers', { minLength: 3 })))
export const agentsOrAll = required('agents', list(text('numbers_or_all', { minLength: 3 })))
export const component = param(
  'component',
  oneOf(
    'agent',
    'agentless',
    'analysis',
    'auth',
    'com',
    'csyslog',
    'integrator',
    'logcollector',
    'mail',
    'monitor',
    'request',
    'syscheck',
    'wazuh-db',
    'wmodules',
  ),
)
export const configuration = param(
  'configuration',
  oneOf(
    'client',
    'buffer',
    'labels',
    'internal',
    'anti_tampering',
    'agentless',
    'global',
    'active_response',
    'alerts',
    'command',
    'rules',
    'decoders',
    'auth',
    'logging',
    'reports',
    'active-response',
    'cluster',
    'csyslog',
    'integration',
    'localfile',
    'socket',
    'remote',
    'syscheck',
    'rootcheck',
    'wdb',
    'wmodules',
    'rule_test',
  ),
)
export const daemons = param('daemons', list(oneOf('wazuh-analysisd', 'wazuh-remoted', 'wazuh-db')))
export const day = param('day', text('date'))
export const distinct = param('different rows only', bool(false))
export const distinctSince45 = param('different rows only', since('4.5', bool(false)))
export const distinctSince47 = param('different rows only', since('4.7', bool(false)))
export const field = param('field', text('names'))
export const fieldWords = param(
  'field',
  oneOf(
    'cve',
    'name',
    'version',
    'architecture',
    'detection_time',
    'severity',
    'cvss2_score',
    'cvss3_score',
    'external_references',
    'type',
    'status',
    'condition',
    'title',
    'published',
    'updated',
  ),
)
export const fileStatus = param('status', oneOf('enabled', 'disabled', 'all'))
export const files = param('name of the file', list(text('alphanumeric')))
export const folder = param('folder', text('get_dirnames_path'))
export const folderSince47 = param('folder', since('4.7', text('get_dirnames_path')))
export const groupFileType = param('type', list(oneOf('conf', 'rootkit_files', 'rootkit_trojans', 'rcl')))
export const groupId = param('group', text('group_names'))
export const groupsList = param('groups', list(text('group_names')))
export const hashFunction = param(
  'hash function',
  oneOf(
    'md5',
    'sha1',
    'sha224',
    'sha256',
    'sha384',
    'sha512',
    'blake2b',
    'blake2s',
    'sha3_224',
    'sha3_256',
    'sha3_384',
    'sha3_512',
  ),
)
export const limit = param('number of rows', integer({ minimum: 1, maximum: 100_000, default: 500 }))
export const listFile = param('name of the file', text('cdb_filename_path'))
export const logLevel = param('level', oneOf('critical', 'debug', 'debug2', 'error', 'info', 'warning'))
export const logTag = param('daemon', text('alphanumeric'))
export const nodeId = param('node', text('names'))
export const nodesList = param('nodes', list(text()))
export const offset = param('first row', integer({ minimum: 0, default: 0 }))
export const overwrite = param('replace an existing file', bool(false))
export const policyId = param('policy', text('numbers'))
export const q = param('query', text())
export const qSince47 = param('query', since('4.7', text()))
export const raw = param('the file itself', bool())
export const resourceWords = param(
  'resource',
  oneOf(
    '*:*',
    'agent:group',
    'agent:id',
    'group:id',
    'node:id',
    'decoder:file',
    'list:file',
    'rule:file',
    'policy:id',
    'role:id',
    'user:id',
  ),
)
export const roleId = param('role', text('numbers'))
export const ruleId = param('rule', text('numbers'))
export const search = param('text in any field', text('search'))
export const section = param(
  'section',
  oneOf(
    'active-response',
    'agentless',
    'alerts',
    'auth',
    'client',
    'client_buffer',
    'cluster',
    'command',
    'database_output',
    'email_alerts',
    'global',
    'integration',
    'labels',
    'localfile',
    'logging',
    'remote',
    'reports',
    'rootcheck',
    'ruleset',
    'sca',
    'socket',
    'syscheck',
    'syslog_output',
    'vulnerability-detection',
    'indexer',
    'aws-s3',
    'azure-logs',
    'cis-cat',
    'docker-listener',
    'open-scap',
    'osquery',
    'syscollector',
  ),
)
export const select = param('fields', list(text('names')))
export const selectSince45 = param('fields', since('4.5', list(text('names'))))
export const selectSince47 = param('fields', since('4.7', list(text('names'))))
export const selectSince49 = param('fields', since('4.9', list(text('names'))))
export const shortLimit = param('number of rows', integer({ minimum: 1, maximum: 500, default: 500 }))
export const sort = param('order of rows', text('sort'))
export const userId = param('user', text('numbers'))
export const xmlFile = param('name of the file', text('xml_filename_path'))
export const xmlFiles = param('name of the file', list(text('xml_filename')))

/** Of each collection. */
export const rows = { offset, limit, sort, search }

/** Which agents a list has. */
export const agentFilters = {
  'os.platform': param('os.platform', text('alphanumeric')),
  'os.version': param('os.version', text('alphanumeric')),
  'os.name': param('os.name', text('alphanumeric')),
  manager: param('manager', text('alphanumeric')),
  version: param('version', text('alphanumeric')),
  group: param('group', text('group_names')),
  node_name: param('node name', text('names')),
  name: param('name', text('alphanumeric')),
  ip: param('ip', text('alphanumeric')),
  registerIP: param('registerIP', text('alphanumeric')),
}
