/** How the nodes of the bench are named and where they listen: each on a loopback address of its own. */
export function nodeName(node: number): string {
  return node === 0 ? 'master' : `worker-${String(node).padStart(3, '0')}`
}

export function addressOf(node: number): string {
  return `127.1.${node >> 8}.${node & 255}`
}
