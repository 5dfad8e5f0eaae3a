import type { Undo } from '../api.gen'
import { post, words } from './api'
import { random } from './proof'

/** The undo that this page has begun: it asks among the approvals, and outlives the view that began it. */
export const undoing = $state({
  session: '', // of its questions; '': none is under way
  problem: '',
  done: '',
})

/** shown has the questions of undos that the person was brought to. */
export const shown = new Set<string>()

/** begin undoes, and waits for the answer of the person. */
export async function begin(body: Omit<Undo, 'name'>): Promise<void> {
  const name = random()
  undoing.session = 'undo-' + name
  undoing.problem = undoing.done = ''
  try {
    await post('/api/undo', { ...body, name } satisfies Undo)
    undoing.done = 'Undone.'
  } catch (err) {
    undoing.problem = words(err)
  }
  undoing.session = ''
}
