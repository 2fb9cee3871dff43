document.querySelector("#depart").form.submit();
