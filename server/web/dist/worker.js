// Shows the messages of stet while its page is closed, and opens the question of one that is tapped. It keeps nothing, decides nothing, and takes no
// part in what the page asks of the server.
addEventListener('push', (event) => {
  const { question, text } = event.data.json()
  event.waitUntil(registration.showNotification('stet', { body: text, tag: question, data: question }))
})

addEventListener('notificationclick', (event) => {
  event.notification.close()
  event.waitUntil(clients.openWindow('/#/queue/' + encodeURIComponent(event.notification.data)))
})
