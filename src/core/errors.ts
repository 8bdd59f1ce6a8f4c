/**
 * Every error that the edge itself returns. Codes below 900 and above 999 are those of the manager's API, with its texts
 * byte for byte; 900 to 949 are the edge's own. Every other code comes from a node and passes unchanged.
 * docs/errors.md is generated from this table.
 */
export interface ErrorDefinition {
  readonly status: number
  readonly message: string
  /** What the client or the operator can do. For documents and commands; not part of the response. */
  readonly remedy: string
}

const PARAM = 'Param not valid'

export const errorTable = {
  600: { status: 400, message: PARAM, remedy: 'send a whole number' },
  601: { status: 400, message: PARAM, remedy: 'use letters, digits, dot, underscore and hyphen' },
  603: {
    status: 404,
    message: 'The requested URL was not found on this server',
    remedy: 'check the path: GET /openapi.json lists all',
  },
  604: { status: 400, message: 'Filter error', remedy: 'use only the parameters that the message lists' },
  605: { status: 400, message: PARAM, remedy: 'write the date as YYYYMMDD' },
  606: { status: 400, message: PARAM, remedy: 'send one IPv4 address, a prefix, or any' },
  607: {
    status: 400,
    message:
      "Invalid content-type. POST requests should be 'application/json', 'application/x-www-form-urlencoded', 'application/xml' or 'application/octet-stream'",
    remedy: 'send one Content-Type that the endpoint accepts, and no Content-Encoding',
  },
  608: { status: 400, message: PARAM, remedy: 'send a plain path' },
  609: { status: 400, message: PARAM, remedy: 'remove the characters that a filter does not allow' },
  610: { status: 400, message: PARAM, remedy: 'send a level N or a range N-M' },
  611: {
    status: 400,
    message: PARAM,
    remedy: 'sort by comma-separated field names, each with an optional + or - in front',
  },
  612: { status: 400, message: PARAM, remedy: 'remove ; & | * ^ > and control characters' },
  613: { status: 400, message: PARAM, remedy: 'send 32, 40 or 64 hexadecimal digits' },
  614: { status: 400, message: 'Invalid request. Body is not correct.', remedy: 'send a well-formed request' },
  615: { status: 400, message: PARAM, remedy: 'use letters and digits' },
  616: { status: 400, message: PARAM, remedy: 'send a list of agent ids' },
  617: { status: 400, message: PARAM, remedy: 'send seconds, or a number with d, h, m or s' },
  618: { status: 400, message: PARAM, remedy: 'send true or false' },
  619: { status: 400, message: PARAM, remedy: 'send comma-separated field names' },
  620: { status: 400, message: PARAM, remedy: 'send yes or no' },
  621: { status: 400, message: 'Invalid character in parameters', remedy: 'send a list of names' },
  622: { status: 400, message: PARAM, remedy: 'write conditions as field, operator, value, joined by ; or ,' },
  623: { status: 400, message: PARAM, remedy: 'send one of the listed values' },
  701: { status: 400, message: 'Size of XML file is too long', remedy: 'send a smaller body, or raise listen.limits' },
  703: {
    status: 400,
    message: 'Invalid XML file',
    remedy: 'correct the XML; DOCTYPE, entities and processing instructions are rejected',
  },
  704: { status: 400, message: 'Invalid path', remedy: 'name a file in one of the folders of the endpoint' },
  705: {
    status: 400,
    message: "Invalid CDB list. Format for CDB list is 'key:value'",
    remedy: 'write each line as key:value',
  },
  706: { status: 400, message: "'path' parameter is mandatory", remedy: 'send the parameter path' },
  801: {
    status: 400,
    message: "Wrong format for 'wazuh-app-version' header. Expected format: 'X.Y.Z'",
    remedy: 'send wazuh-app-version as X.Y.Z, or omit it',
  },
  802: {
    status: 400,
    message: "Invalid 'wazuh-app-version' header",
    remedy: 'use an app with the version of the manager',
  },
  804: {
    status: 400,
    message:
      "Invalid content-type for this request. Content-type should be 'application/xml' or 'application/octet-stream'",
    remedy: 'upload XML or a CDB list',
  },
  1405: {
    status: 200,
    message: 'Specified limit exceeds maximum allowed (1000)',
    remedy: 'request pages of at most 1000',
  },
  1406: { status: 200, message: '0 is not a valid limit', remedy: 'send a limit of at least 1' },
  1701: { status: 200, message: 'Agent does not exist', remedy: 'use an agent id that GET /agents returns' },
  1750: {
    status: 200,
    message: 'Group does not exist or it is empty',
    remedy: 'use a group with members, as GET /agents/groups returns it',
  },
  3022: { status: 200, message: 'Unknown node ID', remedy: 'use a node name that GET /cluster/nodes returns' },
  900: { status: 400, message: 'Bad request', remedy: 'send an unambiguous HTTP/1.1 request' },
  901: { status: 401, message: 'Unauthorized', remedy: 'send valid Basic credentials or a Bearer token' },
  902: {
    status: 403,
    message: 'Permission denied',
    remedy: 'get a role with this permission from an administrator',
  },
  903: { status: 429, message: 'Too many requests', remedy: 'retry after Retry-After seconds' },
  904: { status: 429, message: 'Too many failed logins', remedy: 'retry after Retry-After seconds' },
  905: { status: 405, message: 'Method not allowed', remedy: 'use GET, HEAD, POST, PUT or DELETE' },
  906: { status: 408, message: 'Request not received in time', remedy: 'send the whole request sooner' },
  907: { status: 431, message: 'Request header too large', remedy: 'send fewer and shorter headers' },
  908: { status: 414, message: 'URL too long', remedy: 'send a URL of at most 8 KiB' },
  909: { status: 417, message: 'Expectation not supported', remedy: 'send no Expect header except 100-continue' },
  910: { status: 421, message: 'Host not served here', remedy: 'use one of the names in listen.hosts' },
  911: {
    status: 503,
    message: 'Keys of the token issuer cannot be read',
    remedy: 'check the issuer and access.tokens.issuers; retry after Retry-After seconds',
  },
  912: {
    status: 403,
    message: 'Sign-in by the issuer failed',
    remedy: 'start the sign-in again; the log of the edge has the reason',
  },
  913: {
    status: 503,
    message: 'Issuer of sign-ins unreachable',
    remedy: 'check the issuer and operations.signIn; sign in with a user name and password until then',
  },
  920: { status: 503, message: 'No node available', remedy: 'check the nodes; retry after Retry-After seconds' },
  921: {
    status: 503,
    message: 'Node at its concurrency limit',
    remedy: 'retry after Retry-After seconds; raise cluster.limits if the node can serve more calls',
  },
  922: {
    status: 504,
    message: 'Node did not respond in time',
    remedy: 'check the node; send wait_for_complete for long jobs',
  },
  923: {
    status: 504,
    message: 'Node did not respond in time; outcome unknown',
    remedy: 'read the data before you repeat the request: it may have been carried out',
  },
  924: {
    status: 502,
    message: 'Node unreachable',
    remedy: 'check the address, the network and the certificate of the node',
  },
  925: { status: 502, message: 'Unreadable response from the node', remedy: 'check the log of the node' },
  926: {
    status: 502,
    message: 'Response of the node is too large',
    remedy: 'request smaller pages, or raise cluster.limits.response',
  },
  927: { status: 502, message: 'Node rejected the credentials of the edge', remedy: 'correct cluster.credentials' },
  928: {
    status: 502,
    message: 'No readable response from the node; outcome unknown',
    remedy: 'read the data before you repeat the request: it may have been carried out',
  },
  930: {
    status: 503,
    message: 'Cache cannot be invalidated; write rejected',
    remedy: 'check the connection to Redis; retry after Retry-After seconds; nothing was sent to the manager',
  },
  931: {
    status: 503,
    message: 'Owner of the agent unknown',
    remedy: 'check the master, node_name of the agent and cluster.nodes; retry after Retry-After seconds',
  },
  932: {
    status: 502,
    message: 'Not carried out on all nodes',
    remedy:
      'check the nodes that the message names; repeat the request if a second execution on the others is harmless',
  },
  933: {
    status: 502,
    message: 'Not carried out on all nodes; outcome unknown on some',
    remedy: 'check the nodes that the message names before you repeat the request',
  },
  934: {
    status: 503,
    message: 'Another write to the same data is in progress',
    remedy: 'retry after Retry-After seconds; nothing was sent to the manager',
  },
  935: {
    status: 502,
    message: 'Rows of agent 000 of this node cannot be requested',
    remedy: 'narrow the request to at most 1000 rows, or set cluster.distribution to edge',
  },
  936: {
    status: 503,
    message: 'Audit record cannot be written; write rejected',
    remedy: 'check the disk of audit.file, or set audit.onFailure to log; nothing was sent to the manager',
  },
  937: {
    status: 502,
    message: 'Node distributes requests itself, but cluster.distribution is edge',
    remedy:
      'set cluster.distribution to manager, or disable distributed_api on the nodes that the message names; no write was sent',
  },
  938: {
    status: 501,
    message: 'Not possible with this release of the manager',
    remedy: 'see what the message says; docs/contract-decisions.md lists what releases 4.x lack',
  },
  939: {
    status: 503,
    message: 'Nodes have different layouts; write rejected',
    remedy:
      'upgrade the nodes that the message names, or remove them from cluster.nodes; nothing was sent to the manager, and reads are answered',
  },
  940: {
    status: 409,
    message: 'Node cannot be drained',
    remedy: 'drain another node; for the master, send confirm=master',
  },
  941: {
    status: 503,
    message: 'Drained nodes cannot be changed',
    remedy: 'check the connection to Redis, which shares them with the other replicas, and repeat the request',
  },
  942: {
    status: 403,
    message: 'Read-only trial; write rejected',
    remedy: 'send the write to the manager itself, or end the trial (cache.trial); nothing was sent to the manager',
  },
  943: {
    status: 504,
    message: 'Manager has carried out the write, Redis has not confirmed it; outcome for reads unknown',
    remedy: 'read the data before you repeat the request, and check the connection to Redis',
  },
  944: {
    status: 503,
    message: 'Log-out not stored for other replicas',
    remedy:
      'check the connection to Redis; this replica refuses the tokens and sessions already, and the others do so as soon as Redis is back; to have it confirmed, repeat the request with name and password after Retry-After seconds',
  },
  949: { status: 500, message: 'Internal error', remedy: 'report the error with the request id' },
} as const satisfies Record<number, ErrorDefinition>

export type ErrorCode = keyof typeof errorTable

/** An error response of the edge. `detail` is appended to the message; `headers` are added to the response. */
export class EdgeError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly headers: Readonly<Record<string, string>>

  constructor(code: ErrorCode, detail = '', options: { headers?: Record<string, string>; cause?: unknown } = {}) {
    super(errorTable[code].message + detail, { cause: options.cause })
    this.name = 'EdgeError'
    this.code = code
    this.status = errorTable[code].status
    this.headers = options.headers ?? {}
  }
}
