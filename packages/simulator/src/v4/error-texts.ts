/** The errors of the v4 layout: code, text and remediation, word for word where they were recorded. */

import { securityErrorTexts } from './rbac/error-texts.ts'

export interface ErrorText {
  readonly message: string
  readonly remediation?: string
}

const CONFIGURATIONS =
  'Please, visit the official documentation (https://documentation.wazuh.com/current/user-manual/api/reference.html#operation/api.controllers.agents_controller.get_agent_config) to check available component configurations'
const REFERENCE =
  'Please, visit the official documentation (https://documentation.wazuh.com/current/user-manual/reference/ossec-conf/index.html) to get more information about'
const NOT_ACTIVE =
  'Please, check non-active agents connection and try again. Visit https://documentation.wazuh.com/current/user-manual/registering/index.html and https://documentation.wazuh.com/current/user-manual/agents/agent-connection.html to obtain more information on registering and connecting agents'
const NODES =
  'Make sure the name is correct and that the node is up. You can check it using `cluster_control -l` (https://documentation.wazuh.com/current/user-manual/reference/tools/cluster_control.html#get-connected-nodes)'
const LOGS =
  'Please, check `WAZUH_HOME/logs/ossec.log`, `WAZUH_HOME/logs/cluster.log` and `WAZUH_HOME/logs/api.log` to get more information about the error'

export const errorTexts = {
  ...securityErrorTexts,
  1000: { message: 'Wazuh Internal Error', remediation: LOGS },
  1006: {
    message: 'File/directory does not exist or there is a problem with the permissions',
    remediation: 'Please, check if path to file/directory is correct and `wazuh` has the appropriate permissions',
  },
  1017: { message: 'Some Wazuh daemons are not ready yet in node' },
  1102: { message: 'Invalid section', remediation: `${REFERENCE} configuration sections` },
  1103: { message: 'Invalid field in section', remediation: `${REFERENCE} configuration sections` },
  1106: {
    message: 'Requested section not present in configuration',
    remediation: `Please, check your configuration file. ${REFERENCE.replace('Please, visit', 'You can visit')} configuration sections`,
  },
  1113: { message: 'XML syntax error', remediation: 'Please, ensure file content has correct XML' },
  1114: { message: 'Wazuh syntax error' },
  1116: { message: 'Requested component configuration does not exist', remediation: CONFIGURATIONS },
  1121: {
    message: 'Error connecting with socket',
    remediation: 'Please ensure the selected module is running and properly configured',
  },
  1122: {
    message: 'Experimental features are disabled',
    remediation: 'This feature can be enabled in the API configuration',
  },
  1128: { message: 'Invalid configuration for the given component' },
  1201: { message: 'Error reading rule files' },
  1501: { message: 'Error reading decoder files' },
  1208: {
    message: 'The rule does not exist or you do not have permission to see it',
    remediation: `${REFERENCE} how to configure the rules`,
  },
  1308: {
    message: 'Stats file does not exist',
    remediation: 'Stats files are usually generated at 12 PM on a daily basis',
  },
  1403: { message: 'Not a valid sort field ', remediation: 'Please, use only allowed sort fields' },
  1407: { message: 'Query does not match expected format' },
  1408: { message: 'Field does not exist.' },
  1412: { message: 'Date filter not valid. Valid formats are YYYY-MM-DD HH:mm:ss or YYYY-MM-DD' },
  1415: {
    message: 'Rules file not found',
    remediation: 'Please, use GET /rules/files to list all available rules',
  },
  1503: {
    message: 'Decoders file not found',
    remediation: 'Please, use GET /decoders/files to list all available decoders',
  },
  1504: {
    message: 'The decoder does not exist or you do not have permission to see it',
    remediation: `${REFERENCE} the decoders`,
  },
  1652: { message: 'Active response - Unable to run command' },
  1701: {
    message: 'Agent does not exist',
    remediation: 'Please, use `GET /agents?select=id,name` to find all available agents',
  },
  1703: {
    message: 'Action not available for Manager (agent 000)',
    remediation:
      'Please, use `GET /agents?select=id,name` to find all available agents and make sure you select an agent other than 000',
  },
  1705: { message: 'There is an agent with the same name', remediation: 'Please choose another name' },
  1706: {
    message: 'There is an agent with the same IP or the IP is invalid',
    remediation: 'Please choose another IP',
  },
  1707: { message: 'Cannot send request, agent is not active', remediation: NOT_ACTIVE },
  1708: { message: 'There is an agent with the same ID', remediation: 'Please choose another ID' },
  1710: {
    message: 'The group does not exist',
    remediation: 'Please, use `GET /agents/groups` to find all available groups',
  },
  1711: { message: 'The group already exists', remediation: 'Please, use another group ID' },
  1712: {
    message: 'Default group is not deletable',
    remediation:
      'Please, visit the official documentation (https://documentation.wazuh.com/current/user-manual/agents/grouping-agents.html)to get more information',
  },
  1724: { message: 'Not a valid select field', remediation: 'Please, use only allowed select fields' },
  1730: { message: 'Node does not exist', remediation: NODES },
  1731: {
    message: 'Agent is not eligible for the action to be performed',
    remediation: 'Please, make sure the agent meets the requirements.',
  },
  1734: {
    message: 'Error removing agent from group',
    remediation:
      'Agent does not belong to specified group, to assign the agent to a group follow: https://documentation.wazuh.com/current/user-manual/agents/grouping-agents.html',
  },
  1737: { message: 'Maximum number of groups per multigroup is 256' },
  1738: {
    message: 'Agent name is too long',
    remediation: 'Max length allowed for agent name is 128',
  },
  1740: {
    message: 'Action only available for active agents',
    remediation: 'Please activate the agent to synchronize it',
  },
  1745: { message: "Agent only belongs to 'default' and it cannot be unassigned from this group." },
  1751: {
    message: 'Could not assign agent to group',
    remediation: 'Agent already belongs to specified group, please select another agent',
  },
  1760: { message: "Feature only available for older agent versions, it doesn't apply for more recent ones." },
  1761: {
    message: 'Could not send restart/reload command. This operation via API requires agent version 5.0 or higher.',
  },
  1800: { message: 'Bad format in CDB list {path}' },
  1802: {
    message: 'Lists file not found',
    remediation: 'Please, use `GET /lists/files` to find all available lists',
  },
  1813: { message: 'No task in DB' },
  1820: { message: 'Upgrade procedure could not start. Agent already upgrading' },
  1905: {
    message: 'File could not be updated, it already exists',
    remediation: 'Please, provide a different file or set overwrite=True to overwrite actual file',
  },
  1906: {
    message: 'File does not exist',
    remediation: 'Please, provide a different file or make sure provided file path is correct',
  },
  1908: { message: 'Error validating configuration', remediation: 'Please, fix the corrupted files' },
  1912: { message: 'Body is empty', remediation: 'Please, check the content of the file to be uploaded' },
  2003: { message: 'Error in wazuhdb request', remediation: 'Make sure the request is correct' },
  2007: { message: 'Error retrieving data from Wazuh DB' },
  1015: { message: 'Agent version is null. Was the agent ever connected?' },
  1310: { message: 'Invalid agent ID', remediation: 'This component only exists in real agents' },
  8011: { message: 'This module is disabled' },
  3012: { message: 'Cluster is not running' },
  3020: { message: 'Timeout sending request' },
  3021: { message: 'Timeout executing API request' },
  3022: { message: 'Unknown node ID', remediation: 'Check the name of the node' },
  3023: {
    message: 'Worker node is not connected to master',
    remediation:
      'Check the cluster.log located at WAZUH_HOME/logs/cluster.log file to see if there are connection errors. Restart the `wazuh-manager` service.',
  },
  4000: {
    message: 'Permission denied',
    remediation:
      'Please, make sure you have permissions to execute the current request. For more information on how to set up permissions, please visit https://documentation.wazuh.com/current/user-manual/api/rbac/configuration.html',
  },
  6000: {
    message: 'Limit of login attempts reached. The current IP has been blocked due to a high number of login attempts',
  },
  6001: {
    message: 'Maximum number of requests per minute reached',
    remediation:
      'This limit can be changed in api.yaml file. More information here: https://documentation.wazuh.com/current/user-manual/api/configuration.html#configuration-file',
  },
  6002: { message: 'The body type is not the one specified in the content-type' },
  6004: {
    message: 'The current user does not have authentication enabled through authorization context',
    remediation:
      'You can enable it using the following endpoint: https://documentation.wazuh.com/current/user-manual/api/reference.html#operation/api.controllers.security_controller.edit_run_as',
  },
  // Of documents of release 5.0; its text was not recorded.
  6005: { message: 'Maximum number of unauthenticated requests per minute reached' },
} as const satisfies Readonly<Record<number, ErrorText>>

export type ErrorCode = keyof typeof errorTexts
