// Parts of the page ask for themselves again when they get the event `poll`. A page that is not seen does not poll.
(function () {
  var seconds = Number(document.body.dataset.poll) || 5;
  var places = {};
  function isWriting() {
    var active = document.activeElement;
    return active !== null && active.closest("#live") !== null && active.matches("input, select, textarea");
  }
  function poll() {
    if (!document.hidden && !isWriting()) {
      document.body.dispatchEvent(new Event("poll"));
    }
  }
  // A box that scrolls stays where it was when it is put in place again; at first its centre is seen.
  function scrolling(act) {
    document.querySelectorAll("#live .scroll[id]").forEach(act);
  }
  function keep() {
    scrolling(function (box) {
      places[box.id] = box.scrollLeft;
    });
  }
  function place() {
    scrolling(function (box) {
      var centre = Number(box.dataset.centre) - box.clientWidth / 2;
      box.scrollLeft = box.id in places ? places[box.id] : centre;
    });
  }
  window.setInterval(poll, seconds * 1000);
  document.addEventListener("visibilitychange", poll);
  document.body.addEventListener("htmx:beforeSwap", keep);
  document.body.addEventListener("htmx:afterSwap", place);
  document.body.addEventListener("htmx:afterRequest", function (event) {
    var status = event.detail.xhr ? event.detail.xhr.status : 0;
    document.body.classList.toggle("offline", [0, 500, 502, 504].includes(status));
  });
  place();
})();
