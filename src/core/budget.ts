/** So many turns a second. The bucket begins empty and holds one second, or one turn: nobody saves up for a burst. */
export function budget(perSecond: number, clock: () => number): () => boolean {
  let turns = 0
  let last = clock()
  return () => {
    const now = clock()
    turns = Math.min(Math.max(1, perSecond), turns + ((now - last) / 1000) * perSecond)
    last = now
    if (turns < 1) return false
    turns -= 1
    return true
  }
}
