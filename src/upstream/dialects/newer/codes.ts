/** Error codes of the newer layout on which the edge decides, and the values that summarise the items of a response. */

/** The agent does not exist. */
export const NO_AGENT = 1701
/** The node does not exist, or is not connected. */
export const NO_SUCH_NODE = 1730
/** The agent has never sent data. */
export const NO_DATABASE = 2007
/** The cluster has lost the node. */
export const UNKNOWN_NODE = 3022
/** A worker that is not connected to the master answers nothing. */
export const NO_MASTER = 3023
export const PERMISSION_DENIED = 4000

/** The member `error` of a response whose items have all failed, or some of them. */
export const ALL_FAILED = 1
export const SOME_FAILED = 2
